package fleets_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/internal/fleetseam"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/redlock"
	"github.com/redquorum/redquorum/redlock/fleets"
)

// quarantine is how long a lock of before may go on, at the most: the longest TTL and what
// clocks may drift in it.
const quarantine = time.Minute + 2*time.Second

func wantMoved(t *testing.T, err error, to string) {
	t.Helper()
	why, ok := errors.AsType[*redlock.AbstainError](err)
	if !errors.Is(err, redlock.ErrNoQuorum) || !ok || why.Cause != redlock.AbstainMoved || !strings.Contains(err.Error(), "this fleet is being moved to "+to+", see docs/how-to/moving-a-fleet.md") {
		t.Errorf("%v: want to be told that the fleet is being moved to %s", err, to)
	}
}

func (m *move) close(to string) *redlock.FleetClosing {
	m.T.Helper()
	r, err := closeAs(m.T.Context(), m.open(0, 2), to, false)
	if err != nil {
		m.T.Fatal(err)
	}
	return r
}

// closeAs closes a client's fleet under the name of a move, as redlock fleet close does.
func closeAs(ctx context.Context, c *redlock.Client, to string, force bool) (*redlock.FleetClosing, error) {
	r, err := fleetseam.ClientOf(c).CloseFleet(ctx, to, force)
	return r.(*redlock.FleetClosing), err
}

func TestAClosedFleetVotesForThoseAloneWhoTakePart(t *testing.T) {
	inMove(t, func(t *testing.T, m *move) {
		id := fleetseam.ClientOf(m.to).FleetID()
		forgotten := m.open(0, 2)
		held := lock(t, fleets.One(forgotten), "theirs", redlock.WithTTL(3*time.Second))
		mine := lock(t, m.l, "mine")

		r := m.close(id)
		if len(r.Closed) != 3 || r.Open != nil || r.Left < time.Minute || r.Left > quarantine || r.Fleet != fleetseam.ClientOf(m.from).FleetID() {
			t.Errorf("%+v", r)
		}
		if until := time.Until(r.Until); until != r.Left {
			t.Errorf("until in %v, %v left", until, r.Left)
		}

		// Nobody who takes part is interrupted.
		wantNil(t, mine.Extend(t.Context()))
		unlock(t, lock(t, m.l, "k"))
		wantNil(t, mine.Extend(t.Context()))
		unlock(t, mine)
		// Who does not is told at once, before any waiting.
		began := time.Now()
		_, err := forgotten.Lock(t.Context(), "k")
		if wantMoved(t, err, id); time.Since(began) > time.Second {
			t.Errorf("told after %v", time.Since(began))
		}
		m.wantOn("k", 0, 2, 0)
		// A client that comes later is told, too.
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		wantMoved(t, m.open(0, 2).Ready(ctx), id)
		// What it held ends within its validity, not by luck of a renewal.
		<-held.Context().Done()
		if took := time.Since(began); took > 4*time.Second || !errors.Is(context.Cause(held.Context()), redlock.ErrLost) {
			t.Errorf("its lock ended after %v: %v", took, context.Cause(held.Context()))
		}

		time.Sleep(r.Left / 2)
		if again := m.close(id); again.Left > r.Left/2 || again.Left == 0 {
			t.Errorf("asked again half way, %v is left, before %v", again.Left, r.Left)
		}
		time.Sleep(r.Left)
		if again := m.close(id); again.Left != 0 {
			t.Errorf("asked again after all, %v is left", again.Left)
		}
		unlock(t, lock(t, m.l, "k"))
	})
}

// Sales go on while the fleet is closed: nobody is refused, and nobody waits for longer
// than a look at the masters takes.
func TestWhoTakesPartGoesOnWhileTheFleetIsClosed(t *testing.T) {
	inMove(t, func(t *testing.T, m *move) {
		id := fleetseam.ClientOf(m.to).FleetID()
		var stop atomic.Bool
		var wg sync.WaitGroup
		n := atomic.Int32{}
		for range 2 {
			wg.Go(func() {
				for !stop.Load() {
					began := time.Now()
					h, err := m.l.Lock(t.Context(), "k", redlock.WithFencing())
					if err != nil {
						t.Error(err)
						return
					}
					if took := time.Since(began); took > 500*time.Millisecond {
						t.Errorf("waited for %v", took)
					}
					n.Add(1)
					time.Sleep(5 * time.Millisecond)
					wantNil(t, h.Unlock(t.Context()))
				}
			})
		}
		time.Sleep(100 * time.Millisecond)
		before := n.Load()
		m.close(id)
		// Whoever was called while the masters were checked again pauses once.
		for began := time.Now(); n.Load() < before+5 && time.Since(began) < 500*time.Millisecond; {
			time.Sleep(time.Millisecond)
		}
		stop.Store(true)
		wg.Wait()
		if before < 5 || n.Load() < before+5 {
			t.Errorf("%d locks before, %d in all", before, n.Load())
		}
	})
}

func TestAMasterThatWasAwayIsClosedWhenItComesBack(t *testing.T) {
	inMove(t, func(t *testing.T, m *move) {
		id := fleetseam.ClientOf(m.to).FleetID()
		m.Kill(2)
		r := m.close(id)
		if len(r.Closed) != 2 || r.Open == nil || len(r.Open.Errors) != 1 || r.Left == 0 {
			t.Errorf("%+v", r)
		}
		if node, ok := errors.AsType[*redlock.NodeError](r.Open); !ok || !strings.Contains(node.Error(), "connection refused") {
			t.Errorf("%v", r.Open)
		}
		if err := m.All[2].Restart(true); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Second)
		if again := m.close(id); len(again.Closed) != 3 {
			t.Errorf("when it is back: %+v", again)
		}
	})
}

// Two of three masters that were closed go, and the third comes back empty: a client that
// saw the fleet closed neither adopts it nor believes it.
func TestARestartedMasterIsNotAdoptedByAStranger(t *testing.T) {
	inMove(t, func(t *testing.T, m *move) {
		id := fleetseam.ClientOf(m.to).FleetID()
		forgotten := m.open(0, 2)
		m.close(id)
		for _, client := range []*redlock.Client{m.from, m.to} {
			_ = client.Close() // nobody who takes part is there to do it
		}
		time.Sleep(6 * time.Second) // until it has looked
		wantMoved(t, errorOf(forgotten.TryLock(t.Context(), "k")), id)
		m.All[0].Kill()
		if err := m.All[1].Restart(false); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Second)
		if _, found := m.All[1].TTL("redquorum:marker"); found {
			t.Error("a stranger has adopted it")
		}
		time.Sleep(5 * time.Minute)
		wantMoved(t, errorOf(forgotten.TryLock(t.Context(), "k")), id)

		// Who takes part adopts it, and closes it.
		part := m.open(0, 2, redlock.WithMovedTo("another"), redlock.WithMovedTo(id))
		time.Sleep(2 * time.Minute)
		if err := part.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		unlock(t, lock(t, fleets.One(part), "k"))
		r, err := part.CloseFleet(t.Context(), m.open(3, 7))
		if err != nil || len(r.Closed) != 2 {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

func TestTooFewMastersThatCanBeToldAreNoClosing(t *testing.T) {
	inMove(t, func(t *testing.T, m *move) {
		m.killQuorum("from")
		r, err := closeAs(t.Context(), m.open(0, 2), "elsewhere", false)
		q, ok := errors.AsType[*redlock.QuorumError](err)
		if !ok || !errors.Is(err, redlock.ErrNoQuorum) || q.OK != 1 || q.Need != 2 || q.Total != 3 || r == nil || len(r.Closed) != 1 {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

func TestAFleetIsOpenedAgainByForce(t *testing.T) {
	inMove(t, func(t *testing.T, m *move) {
		m.close("elsewhere")
		time.Sleep(6 * time.Second) // until it has looked
		wantMoved(t, errorOf(m.from.TryLock(t.Context(), "k")), "elsewhere")
		if err := m.from.Init(t.Context(), redlock.ForceInit()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		unlock(t, lock(t, fleets.One(m.from), "k"))
	})
}

func TestBadClosingsAreRefused(t *testing.T) {
	inMove(t, func(t *testing.T, m *move) {
		for to, want := range map[string]string{
			"": "the name is empty", "a b": `"a b"`, strings.Repeat("x", 65): "65 bytes",
			fleetseam.ClientOf(m.from).FleetID(): "the id of this fleet",
		} {
			wantText(t, errorOf(closeAs(t.Context(), m.from, to, false)), want)
		}
		off := m.open(0, 2, redlock.WithGuard(redlock.GuardOff))
		wantText(t, errorOf(off.CloseFleet(t.Context(), m.to)), "GuardOff")
		wantText(t, errorOf(redlock.Open([]string{"redis://a:1"}, redlock.WithMovedTo(""))), "WithMovedTo: the name is empty")
		wantText(t, errorOf(m.from.CloseFleet(t.Context(), off)), "to: WithGuard(GuardOff)")
		wantText(t, errorOf(m.from.CloseFleet(t.Context(), nil)), "to: it is nil")
		wantText(t, errorOf(m.from.CloseFleet(t.Context(), m.from)), "the id of this fleet")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := m.from.CloseFleet(ctx, m.to); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		_ = off.Close()
		_ = m.from.Close()
		if _, err := m.from.CloseFleet(t.Context(), m.to); !errors.Is(err, redlock.ErrClosed) {
			t.Error(err)
		}
	})
}

// A fleet can be moved to one place alone: clients of two moves would not exclude each other.
func TestAFleetThatIsBeingMovedIsNotClosedForAnotherMove(t *testing.T) {
	inMove(t, func(t *testing.T, m *move) {
		id := fleetseam.ClientOf(m.to).FleetID()
		m.close("elsewhere")
		r, err := m.open(0, 2).CloseFleet(t.Context(), m.to)
		if r != nil {
			t.Errorf("closed nevertheless: %+v", r)
		}
		wantText(t, err, `it is being moved to "elsewhere" already, and not to "`+id+`": nothing was written`)
		forgotten := m.open(0, 2)
		wantMoved(t, errorOf(forgotten.TryLock(t.Context(), "k")), "elsewhere")

		r, err = m.open(0, 2).CloseFleet(t.Context(), m.to, redlock.ForceClose())
		if err != nil || len(r.Closed) != 3 {
			t.Fatalf("by force: %+v, %v", r, err)
		}
		time.Sleep(6 * time.Second) // until all have looked
		wantMoved(t, errorOf(forgotten.TryLock(t.Context(), "k")), id)
		unlock(t, lock(t, m.l, "k"))
	})
}

// The closing changes the markers under the tries that are on their way.
func TestNoTryFailsWhileTheFleetIsClosed(t *testing.T) {
	whileClosed(t, func(t *testing.T, part *redlock.Client, key string) (ask func(), end func()) {
		return func() {
			l, err := part.TryLock(t.Context(), key)
			if err != nil {
				t.Error(err)
				return
			}
			wantNil(t, l.Unlock(t.Context()))
		}, func() {}
	})
}

// whileClosed asks with eight keys, by a client that takes part in the move, while the fleet is
// closed. All go on, and close, at one instant, in an order that nobody says: several times.
func whileClosed(t *testing.T, begin func(t *testing.T, part *redlock.Client, key string) (ask func(), end func())) {
	t.Helper()
	for range 6 {
		inMove(t, func(t *testing.T, m *move) {
			id := fleetseam.ClientOf(m.to).FleetID()
			part := m.open(0, 2, redlock.WithMovedTo(id))
			if err := part.Ready(t.Context()); err != nil {
				t.Fatal(err)
			}
			var stop atomic.Bool
			var wg sync.WaitGroup
			var n atomic.Int32
			for i := range 8 {
				ask, end := begin(t, part, string(rune('a'+i)))
				wg.Go(func() {
					for !stop.Load() {
						ask()
						n.Add(1)
						time.Sleep(time.Millisecond)
					}
					end()
				})
			}
			time.Sleep(20 * time.Millisecond)
			before := n.Load()
			if r := m.close(id); len(r.Closed) != 3 {
				t.Errorf("%+v", r)
			}
			time.Sleep(20 * time.Millisecond)
			stop.Store(true)
			wg.Wait()
			if n.Load() == before || before == 0 {
				t.Errorf("%d answers before, %d in all", before, n.Load())
			}
		})
	}
}

// A program that starts when the fleet is closed already takes part as one that ran before.
func TestMovingStartsOnAClosedFleet(t *testing.T) {
	inMove(t, func(t *testing.T, m *move) {
		m.close(fleetseam.ClientOf(m.to).FleetID())
		l := m.moving(m.open(0, 2), m.open(3, 7))
		unlock(t, lock(t, l, "k"))
		again, err := fleets.Moving(fleets.One(m.open(0, 2)), fleets.One(m.open(3, 7))) // not awaited
		if err != nil {
			t.Fatal(err)
		}
		unlock(t, lock(t, again, "k"))
	})
}

// marker is where a master's marker says that the fleet moves.
func (m *move) marker(i int) string {
	m.T.Helper()
	to, err := redis.String(m.Ask(i, "HGET", guard.Key, "to"), nil)
	if err != nil && !errors.Is(err, redis.ErrNil) {
		m.T.Fatal(err)
	}
	return to
}

func (m *move) markers() (to [3]string) {
	for i := range to {
		to[i] = m.marker(i)
	}
	return to
}

// Two closings that have met are neither done, say so, and are settled by force.
func TestTwoClosingsThatHaveMetAreSettledByForce(t *testing.T) {
	inMove(t, func(t *testing.T, m *move) {
		for i, to := range []string{"x", "x", "y"} {
			m.Ask(i, "HSET", guard.Key, "to", to, "closed", time.Now().UnixMilli())
		}
		for to, other := range map[string]string{"x": "y", "y": "x"} {
			r, err := closeAs(t.Context(), m.open(0, 2), to, false)
			if r == nil || !errors.Is(err, redlock.ErrNoQuorum) {
				t.Fatalf("%s: %+v, %v", to, r, err)
			}
			wantText(t, err, `another closing, to "`+other+`", is under way beside this one, to "`+to+`"`)
			wantText(t, err, "run one of them again, with ForceClose")
			wantText(t, err, `it says that the fleet is being moved to "`+other+`"`)
			if to == "x" && len(r.Closed) != 2 || to == "y" && len(r.Closed) != 1 {
				t.Errorf("%s: %+v", to, r)
			}
		}
		part := m.open(0, 2, redlock.WithMovedTo("x"))
		wantMoved(t, errorOf(part.TryLock(t.Context(), "k")), "y")
		if r, err := closeAs(t.Context(), m.open(0, 2), "x", true); err != nil || len(r.Closed) != 3 || r.Left == 0 {
			t.Fatalf("by force: %+v, %v", r, err)
		}
		time.Sleep(6 * time.Second) // until it has looked
		unlock(t, lock(t, fleets.One(part), "k"))
	})
}

// Of two closings at one moment none is done unless all masters name it, with force and without.
func TestAClosingThatMeetsAnotherIsDoneOnlyIfAllMastersNameIt(t *testing.T) {
	for _, force := range []bool{false, true} {
		split := 0
		for round := 0; split < 5 && round < 100; round++ {
			inMove(t, func(t *testing.T, m *move) {
				x, y := m.open(0, 2), m.open(0, 2)
				var errX, errY error
				var wg sync.WaitGroup
				wg.Go(func() { _, errX = closeAs(t.Context(), x, "x", force) })
				wg.Go(func() { _, errY = closeAs(t.Context(), y, "y", force) })
				wg.Wait()
				switch to := m.markers(); {
				case to != [3]string{"x", "x", "x"} && to != [3]string{"y", "y", "y"}:
					split++
					// With force, one of both may have been done before the other began to write.
					if errX == nil && errY == nil || !force && (errX == nil || errY == nil) {
						t.Errorf("force %v: %v, and no error of %v, %v", force, to, errX, errY)
					}
				case errX != nil && errY != nil:
					t.Errorf("force %v: %v, and %v, %v", force, to, errX, errY)
				}
			})
		}
		if split < 5 {
			t.Errorf("force %v: only %d of 100 split", force, split)
		}
	}
}

// A move from a to b that is closed does not become one from b to a.
func TestAFleetIsNotClosedForOneThatIsBeingMovedItself(t *testing.T) {
	inMove(t, func(t *testing.T, m *move) {
		id := fleetseam.ClientOf(m.to).FleetID()
		if _, err := m.from.CloseFleet(t.Context(), m.to); err != nil {
			t.Fatal(err)
		}
		for _, opts := range [][]redlock.CloseOption{nil, {redlock.ForceClose()}} {
			r, err := m.to.CloseFleet(t.Context(), m.from, opts...)
			if r != nil {
				t.Errorf("closed: %+v", r)
			}
			wantText(t, err, `to: that fleet is being moved itself, to "`+id+`"`)
		}
		unlock(t, lock(t, m.l, "k"))
	})
}

// Extend and Verify meet the closing as tries do.
func TestNoExtensionFailsWhileTheFleetIsClosed(t *testing.T) {
	i := 0
	whileClosed(t, func(t *testing.T, part *redlock.Client, key string) (ask func(), end func()) {
		l, err := part.TryLock(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		extendOrVerify := []func(context.Context) error{l.Extend, l.Verify}[i%2]
		i++
		return func() { wantNil(t, extendOrVerify(t.Context())) }, func() { wantNil(t, l.Unlock(t.Context())) }
	})
}
