package fleets_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/internal/fleetseam"
	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
	"github.com/redquorum/redquorum/redlock/fleets"
)

// A move is three masters that are moved to five others.
type move struct {
	*sim
	from, to *redlock.Client
	l        fleets.Locker
}

func inMove(t *testing.T, test func(t *testing.T, m *move), opts ...redlock.Option) {
	t.Helper()
	inSim(t, 8, func(t *testing.T, s *sim) {
		s.opts = opts
		m := &move{sim: s, from: s.open(0, 2), to: s.open(3, 7)}
		for _, c := range []*redlock.Client{m.from, m.to} {
			// In strict a new fleet is to be declared, or waits for its quarantine.
			if err := c.Init(t.Context()); err != nil && !strings.Contains(err.Error(), "GuardOff") {
				t.Fatal(err)
			}
		}
		m.l = s.moving(m.from, m.to)
		test(t, m)
	})
}

// sides are the first and the last master of each fleet.
var sides = map[string][2]int{"from": {0, 2}, "to": {3, 7}}

// killQuorum kills so many masters of a fleet that the others are no quorum.
func (m *move) killQuorum(fleet string) {
	if fleet == "from" {
		m.Kill(0, 1)
	} else {
		m.Kill(3, 4, 5)
	}
}

func TestAHoldWhileMovingIsOneInBothFleets(t *testing.T) {
	for _, level := range []redlock.GuardLevel{redlock.GuardOff, redlock.GuardStandard, redlock.GuardStrict} {
		t.Run(level.String(), func(t *testing.T) {
			inMove(t, func(t *testing.T, m *move) {
				h := lock(t, m.l, "k")
				m.wantOn("k", 0, 2, 3)
				m.wantOn("k", 3, 7, 5)
				for _, c := range []*redlock.Client{m.from, m.to} {
					wantIs(t, errorOf(c.TryLock(t.Context(), "k")), redlock.ErrTaken)
				}
				if h.Key() != "k" || h.Remaining() <= 0 || h.Fence() != 0 || h.Context().Err() != nil {
					t.Errorf("%q, %v, %d, %v", h.Key(), h.Remaining(), h.Fence(), h.Context().Err())
				}
				time.Sleep(time.Second)
				before := h.Remaining()
				if err := h.Extend(t.Context()); err != nil || h.Remaining() <= before {
					t.Errorf("%v: %v remain, before %v", err, h.Remaining(), before)
				}
				wantNil(t, h.Verify(t.Context()))
				unlock(t, h)
				m.wantOn("k", 0, 7, 0)
				wantIs(t, h.Unlock(t.Context()), redlock.ErrUnlocked, redlock.ErrNotHeld)
				wantIs(t, context.Cause(h.Context()), redlock.ErrUnlocked)
			}, redlock.WithGuard(level))
		})
	}
}

// The unlock itself ends the context, which must not end the wait for it in either fleet.
func TestAHoldInBothFleetsIsUnlockedUnderItsOwnContext(t *testing.T) {
	inMove(t, func(t *testing.T, m *move) {
		h := lock(t, m.l, "k")
		wantNil(t, h.Unlock(h.Context()))
		wantNil(t, m.l.Do(t.Context(), "k", func(ctx context.Context) error {
			l, _ := redlock.FromContext(ctx)
			return l.Unlock(ctx)
		}))
		m.wantOn("k", 0, 7, 0)
	})
}

func TestRemainingIsTheSmallerOfBoth(t *testing.T) {
	inSim(t, 6, func(t *testing.T, s *sim) {
		for name, ttls := range map[string][2]time.Duration{"from": {3 * time.Second, 9 * time.Second}, "to": {9 * time.Second, 3 * time.Second}} {
			from, to := s.open(0, 2, redlock.WithTTL(ttls[0])), s.open(3, 5, redlock.WithTTL(ttls[1]))
			h := lock(t, s.moving(from, to), "k")
			if left := h.Remaining(); left <= 0 || left > 3*time.Second {
				t.Errorf("%s has 3s: %v remain", name, left)
			}
			if until := time.Until(h.ValidUntil()); until <= 0 || until > 3*time.Second {
				t.Errorf("%s has 3s: valid for %v", name, until)
			}
			unlock(t, h)
		}
	})
}

func TestClientsOfEveryPhaseButTheFirstAndTheThirdExcludeEachOther(t *testing.T) {
	inMove(t, func(t *testing.T, m *move) {
		one, two := fleets.One(m.from), fleets.One(m.to)
		for name, neighbour := range map[string]fleets.Locker{"from": one, "to": two} {
			h := lock(t, neighbour, "k")
			wantFleet(t, errorOf(m.l.TryLock(t.Context(), "k")), name, redlock.ErrTaken)
			if m.on("k", 0, 7) > 5 {
				t.Error("a failed attempt left something behind")
			}
			go func() {
				time.Sleep(time.Second)
				unlock(t, h)
			}()
			began := time.Now()
			mine := lock(t, m.l, "k")
			if took := time.Since(began); took < time.Second || took > 1100*time.Millisecond {
				t.Errorf("after %v in %s, want about a second", took, name)
			}
			unlock(t, mine)
		}
	})
}

func TestTheErrorSaysWhichFleetHasNoQuorum(t *testing.T) {
	for _, name := range []string{"from", "to"} {
		inMove(t, func(t *testing.T, m *move) {
			m.killQuorum(name)
			for what, lock := range map[string]func(context.Context, string, ...redlock.LockOption) (fleets.Hold, error){"TryLock": m.l.TryLock, "Lock": m.l.Lock} {
				began := time.Now()
				h, err := lock(t.Context(), "k")
				wantFleet(t, err, name, redlock.ErrNoQuorum)
				if took := time.Since(began); h != nil || took > 5*time.Second {
					t.Errorf("%s: %v after %v", what, h, took)
				}
			}
			m.wantOn("k", 0, 7, 0)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			wantFleet(t, m.l.Ready(ctx), name, redlock.ErrNoQuorum)
		})
	}
}

func TestLossInOneFleetIsLossAndGivesTheOtherBack(t *testing.T) {
	for nth := range 2 { // in the order of taking
		inMove(t, func(t *testing.T, m *move) {
			name, other := m.order()[nth], m.order()[1-nth]
			h := lock(t, m.l, "k", redlock.WithTTL(2*time.Second))
			m.killQuorum(name)
			select {
			case <-h.Context().Done():
			case <-time.After(time.Minute):
				t.Fatalf("no end a minute after %s was lost", name)
			}
			wantFleet(t, context.Cause(h.Context()), name, redlock.ErrLost)
			if lost, ok := errors.AsType[*redlock.LostError](context.Cause(h.Context())); !ok || lost.Key != "k" {
				t.Errorf("no *LostError: %v", context.Cause(h.Context()))
			}
			m.wantOn("k", sides[other][0], sides[other][1], 0)
			if h.Remaining() != 0 {
				t.Errorf("%v remain", h.Remaining())
			}
			for what, do := range map[string]func(context.Context) error{"Extend": h.Extend, "Verify": h.Verify, "Unlock": h.Unlock} {
				err := do(t.Context())
				wantFleet(t, err, name, redlock.ErrLost, redlock.ErrNotHeld)
				if errors.Is(err, redlock.ErrUnlocked) {
					t.Errorf("%s: %v: it was lost, not unlocked", what, err)
				}
			}
		})
	}
}

// Err computes: no timer and no other goroutine has to run first.
func TestTheContextEndsWithoutATimer(t *testing.T) {
	inMove(t, func(t *testing.T, m *move) {
		h := lock(t, m.l, "k", redlock.WithLease(time.Second))
		time.Sleep(h.Remaining())
		if err := h.Context().Err(); err == nil {
			t.Error("the lease is over and the context is not")
		}
		wantIs(t, context.Cause(h.Context()), redlock.ErrLost)
	})
}

func TestFencingTokensRiseThroughAllPhases(t *testing.T) {
	// One of the two fleets is taken first; where the other gives more, it has to be told.
	// Which one it is follows from ids, which differ from run to run.
	var ofFrom, ofTo = []int{0, 2}, []int{4, 5, 6}
	for name, ahead := range map[string]map[string][]int{ // by the fleet that is taken first
		"clocks agree": nil,
		"tokens of the fleet that is taken first are ahead": {"from": ofFrom, "to": ofTo},
		"tokens of the other fleet are ahead":               {"from": ofTo, "to": ofFrom},
		"a minority of each is":                             {"from": {1, 3, 7}, "to": {1, 3, 7}},
	} {
		t.Run(name, func(t *testing.T) {
			inMove(t, func(t *testing.T, m *move) {
				for n, i := range ahead[m.order()[0]] { // given to clients whose clocks were ahead
					then := time.Now().Add(time.Hour + time.Duration(n)*time.Second)
					_ = m.All[i].Set("redquorum:fence:1:k", fmt.Sprint(then.UnixMicro()), 2*time.Hour)
				}
				phases := map[string]fleets.Locker{"from": fleets.One(m.from), "moving": m.l, "to": fleets.One(m.to)}
				last := uint64(0)
				for i, phase := range []string{"moving", "from", "moving", "moving", "to", "moving", "to", "to", "moving"} {
					h := lock(t, phases[phase], "k", redlock.WithFencing())
					if h.Fence() <= last {
						t.Errorf("step %d, %s: token %d after %d", i, phase, h.Fence(), last)
					}
					last = h.Fence()
					if phase == "moving" {
						for _, side := range sides {
							if n, need := m.fences("k", last, side[0], side[1]), (side[1]-side[0])/2+1; n < need {
								t.Errorf("step %d: token %d is stored on %d masters of %d to %d, want %d", i, last, n, side[0], side[1], need)
							}
						}
					}
					if err := h.Extend(t.Context()); err != nil || h.Fence() != last {
						t.Errorf("extended: %v, token %d, was %d", err, h.Fence(), last)
					}
					unlock(t, h)
					time.Sleep(time.Millisecond)
				}
				if n := m.from.Stats().FencingRaises + m.to.Stats().FencingRaises; ahead == nil && n != 0 {
					t.Errorf("%d second rounds: the second fleet is to give what the first gave", n)
				}
			})
		})
	}
}

// fences is how many of the masters store a fencing token, or a higher one.
func (m *move) fences(key string, token uint64, first, last int) (n int) {
	synctest.Wait()
	for _, master := range m.All[first : last+1] {
		if v, ok := master.Get("redquorum:fence:1:" + key); ok && v >= fmt.Sprint(token) && len(v) >= len(fmt.Sprint(token)) {
			n++
		}
	}
	return n
}

// What is set again on a master that has lost the lock has the hold's token, not the one
// that its fleet gave.
func TestAMasterThatLostTheLockGetsTheHoldsToken(t *testing.T) {
	inMove(t, func(t *testing.T, m *move) {
		for _, master := range m.All[3:] { // so that to gives more than from
			_ = master.Set("redquorum:fence:1:k", fmt.Sprint(time.Now().Add(time.Hour).UnixMicro()), time.Hour)
		}
		h := lock(t, m.l, "k", redlock.WithFencing())
		defer unlock(t, h)
		m.All[1].FlushAll()
		if err := h.Extend(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got, _ := m.All[1].Get("redquorum:fence:1:k"); got != fmt.Sprint(h.Fence()) {
			t.Errorf("its fence is %q, want %d", got, h.Fence())
		}
	})
}

func TestFencingInOneFleetAloneIsRefused(t *testing.T) {
	inSim(t, 6, func(t *testing.T, s *sim) {
		l := s.moving(s.open(0, 2, redlock.WithFencing()), s.open(3, 5))
		_, err := l.Lock(t.Context(), "k")
		if wantFleet(t, err, "to"); !strings.Contains(err.Error(), "WithFencing") || s.on("k", 0, 5) != 0 {
			t.Errorf("%v, on %d masters", err, s.on("k", 0, 5))
		}
		h := lock(t, l, "k", redlock.WithFencing())
		if h.Fence() == 0 {
			t.Error("no token")
		}
		unlock(t, h)
	})
}

// The order is that of the ids, for whoever moves in whichever direction: who finds the
// first taken has not touched the others.
func TestFleetsAreTakenInTheOrderOfTheirIDs(t *testing.T) {
	inMove(t, func(t *testing.T, m *move) {
		back := m.moving(m.to, m.from)
		first, second := sides[m.order()[0]], sides[m.order()[1]]
		for name, l := range map[string]fleets.Locker{"from to to": m.l, "to to from": back} {
			for _, master := range m.All[first[0] : first[1]+1] {
				_ = master.Set("k", "somebody's", time.Hour)
			}
			before := m.commands("SET", second)
			wantIs(t, errorOf(l.TryLock(t.Context(), "k")), redlock.ErrTaken)
			if got := m.commands("SET", second) - before; got != 0 {
				t.Errorf("%s: %d SET in the second fleet though the first is taken", name, got)
			}
		}
	})
}

// order is that of the fleets' ids.
func (m *move) order() [2]string {
	if fleetseam.ClientOf(m.to).FleetID() < fleetseam.ClientOf(m.from).FleetID() {
		return [2]string{"to", "from"}
	}
	return [2]string{"from", "to"}
}

func (m *move) commands(name string, masters [2]int) (n int) {
	synctest.Wait()
	for _, master := range m.All[masters[0] : masters[1]+1] {
		n += master.Commands()[name]
	}
	return n
}

// Who waits holds nothing meanwhile.
func TestNobodyWaitsForOneFleetWhileHoldingTheOther(t *testing.T) {
	// Both in one move: either fleet may be the first, by its id.
	inMove(t, func(t *testing.T, m *move) {
		for other, in := range map[string]*redlock.Client{"to": m.from, "from": m.to} {
			h := lock(t, fleets.One(in), "k")
			got := make(chan fleets.Hold)
			go func() { got <- lock(t, m.l, "k") }()
			time.Sleep(2 * time.Second)
			m.wantOn("k", sides[other][0], sides[other][1], 0)
			unlock(t, h)
			unlock(t, <-got)
		}
	})
}

// Clients that move in opposite directions, and those of the phases beside, contend for
// few keys: nobody is beside anybody, tokens rise, and all get their turns.
func TestContendersOfAllPhasesGetTheirTurns(t *testing.T) {
	inMove(t, func(t *testing.T, m *move) {
		back := m.moving(m.open(3, 7), m.open(0, 2))
		third := fleets.One(m.open(3, 7))
		var b book
		var wg sync.WaitGroup
		for w, l := range []fleets.Locker{m.l, back, third, m.l, back, third, m.l, back} {
			name := fmt.Sprintf("%c", 'a'+w)
			wg.Go(func() {
				for i := range 6 {
					key := fmt.Sprint("key-", (w+i)%2)
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					h, err := l.Lock(ctx, key, redlock.WithFencing())
					cancel()
					if err != nil {
						t.Errorf("%s: %v", name, err)
						return
					}
					b.write(t, name, h, 10*time.Millisecond, key)
					unlock(t, h)
				}
			})
		}
		wg.Wait()
	})
}

func TestDoRunsUnderBothFleets(t *testing.T) {
	inMove(t, func(t *testing.T, m *move) {
		mine := errors.New("mine")
		type key struct{}
		caller, cancel := context.WithTimeout(context.WithValue(t.Context(), key{}, "value"), time.Hour)
		defer cancel()
		err := m.l.Do(caller, "k", func(ctx context.Context) error {
			if ctx.Value(key{}) != "value" {
				t.Error("the caller's values are gone")
			}
			if _, ok := ctx.Deadline(); !ok {
				t.Error("the caller's deadline is gone")
			}
			for _, l := range []fleets.Locker{m.l, fleets.One(m.from), fleets.One(m.to)} {
				wantIs(t, errorOf(l.TryLock(ctx, "k")), redlock.ErrReentrant)
			}
			if m.on("k", 0, 2) != 3 || m.on("k", 3, 7) != 5 || ctx.Err() != nil {
				t.Error("not held in both")
			}
			return mine
		})
		if err != mine || m.on("k", 0, 7) != 0 { //nolint:errorlint // it is to be the same
			t.Errorf("%v, left on %d masters", err, m.on("k", 0, 7))
		}
		func() {
			defer func() { _ = recover() }()
			_ = m.l.Do(t.Context(), "k", func(context.Context) error { panic("mine") })
		}()
		m.wantOn("k", 0, 7, 0)
		ctx, stop := context.WithCancelCause(t.Context())
		err = m.l.Do(ctx, "k", func(ctx context.Context) error {
			stop(mine)
			<-ctx.Done()
			if ctx.Err() != context.Canceled || context.Cause(ctx) != mine { //nolint:errorlint // as above
				t.Errorf("%v, %v", ctx.Err(), context.Cause(ctx))
			}
			return nil
		})
		wantNil(t, err)
		err = m.l.Do(t.Context(), "k", func(ctx context.Context) error {
			m.killQuorum("to")
			<-ctx.Done()
			wantFleet(t, context.Cause(ctx), "to", redlock.ErrLost)
			return nil
		}, redlock.WithTTL(2*time.Second))
		wantFleet(t, err, "to", redlock.ErrLost)
		m.wantOn("k", 0, 2, 0)
		wantText(t, m.l.Do(t.Context(), "k", nil), "nil")
		wantText(t, m.l.Do(t.Context(), "", func(context.Context) error { return nil }), "key is empty")
	})
}

func TestCloseWaitsForDoInBothFleets(t *testing.T) {
	inMove(t, func(t *testing.T, m *move) {
		entered, left := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(left)
			err := m.l.Do(t.Context(), "k", func(ctx context.Context) error {
				close(entered)
				<-ctx.Done()
				time.Sleep(time.Second) // to come to an end
				return nil
			})
			if !errors.Is(err, redlock.ErrClosed) || !errors.Is(err, redlock.ErrLost) {
				t.Errorf("%v, want %v and %v", err, redlock.ErrClosed, redlock.ErrLost)
			}
		}()
		<-entered
		began := time.Now()
		if err := m.l.Close(); err != nil || time.Since(began) < time.Second {
			t.Errorf("%v after %v: want to wait for the function", err, time.Since(began))
		}
		<-left
		m.wantOn("k", 0, 7, 0)
		wantIs(t, errorOf(m.l.Lock(t.Context(), "k")), redlock.ErrClosed)
	})
}

func TestAFleetIsNotMovedToItself(t *testing.T) {
	inSim(t, 6, func(t *testing.T, s *sim) {
		a, again, overlapping := s.open(0, 2), s.open(0, 2), s.open(2, 4)
		one := fleets.One(a)
		for name, test := range map[string]struct {
			from, to fleets.Locker
			want     string
		}{
			"one Locker":       {one, one, "the same Locker"},
			"one client":       {one, fleets.One(a), "the same fleet"},
			"one list":         {one, fleets.One(again), "the same fleet"},
			"a shared server":  {one, fleets.One(overlapping), "the server"},
			"nil":              {nil, one, "from: the Locker is nil"},
			"to nil":           {one, nil, "to: the Locker is nil"},
			"One(nil)":         {one, fleets.One(nil), "to: One: the client is nil"},
			"another's Locker": {one, foreign{one}, "foreign"},
		} {
			if _, err := fleets.Moving(test.from, test.to); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: %v: want %q in it", name, err, test.want)
			}
		}
		c, let := s.openLater(0, 2)
		l, err := fleets.Moving(one, fleets.One(c))
		if err != nil {
			t.Fatal(err)
		}
		let()
		time.Sleep(10 * time.Second)
		for what, err := range map[string]error{
			"Ready": l.Ready(t.Context()), "Lock": errorOf(l.Lock(t.Context(), "k")), "TryLock": errorOf(l.TryLock(t.Context(), "k")),
			"Do": l.Do(t.Context(), "k", func(context.Context) error { return nil }),
		} {
			if err == nil || !strings.Contains(err.Error(), "the same fleet") {
				t.Errorf("%s: %v", what, err)
			}
		}
	})
}

// The same servers with another database are another fleet: so settings are changed online.
func TestAFleetIsMovedToAnotherDatabaseOfItsServers(t *testing.T) {
	inSim(t, 3, func(t *testing.T, s *sim) {
		from := s.open(0, 2)
		var urls []string
		for _, url := range s.URLs() {
			urls = append(urls, url+"/1")
		}
		to, err := redlock.Open(urls, redlock.WithPool(pool.WithDialer(s.Dialer())), redlock.WithMaxTTL(5*time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		s.AtEnd(func() { _ = to.Close() })
		h := lock(t, s.moving(from, to), "k", redlock.WithFencing())
		for _, c := range []*redlock.Client{from, to} {
			wantIs(t, errorOf(c.TryLock(t.Context(), "k")), redlock.ErrTaken)
		}
		unlock(t, h)
	})
}

// While a shard is added most keys stay where they are: those are taken once.
func TestAddingAShardMovesItsKeysAlone(t *testing.T) {
	inSim(t, 9, func(t *testing.T, s *sim) {
		a, b, c := s.open(0, 2), s.open(3, 5), s.open(6, 8)
		before := s.sharded(map[string]*redlock.Client{"a": a, "b": b})
		// Other clients of the same masters, as a program would make them, or the same.
		after := s.sharded(map[string]*redlock.Client{"a": s.open(0, 2), "b": b, "c": c})
		l, err := fleets.Moving(before, after)
		if err != nil {
			t.Fatal(err)
		}
		s.ready(l)
		where := map[string][2]int{"a": {0, 2}, "b": {3, 5}, "c": {6, 8}}
		seen := map[bool]int{}
		for i := range 30 {
			key := fmt.Sprint("orders/", i)
			h := lock(t, l, key, redlock.WithFencing())
			old, young := before.Shard(key), after.Shard(key)
			want := 3
			if seen[old == young]++; old != young {
				want = 6
			}
			total := s.on(key, 0, 8)
			if in := s.on(key, where[old][0], where[old][1]) + s.on(key, where[young][0], where[young][1])*(want/6); in != total || total != want {
				t.Errorf("%s, in %s and then %s: on %d masters there, %d in all", key, old, young, in, total)
			}
			for name, l := range map[string]*fleets.Shards{old: before, young: after} {
				wantFleet(t, errorOf(l.TryLock(t.Context(), key)), name, redlock.ErrTaken)
			}
			wantNil(t, h.Extend(t.Context()))
			unlock(t, h)
		}
		if seen[true] < 5 || seen[false] < 3 {
			t.Errorf("%d keys stayed and %d moved", seen[true], seen[false])
		}
	})
}

// A shard that is moved on its own is one shard like others.
func TestAShardMayBeOneThatMoves(t *testing.T) {
	inSim(t, 9, func(t *testing.T, s *sim) {
		shards, err := fleets.Sharded(map[string]fleets.Locker{"a": s.moving(s.open(0, 2), s.open(3, 5)), "b": fleets.One(s.open(6, 8))})
		if err != nil {
			t.Fatal(err)
		}
		s.ready(shards)
		a, b := keyOf(shards, "a", 0), keyOf(shards, "b", 0)
		h := lock(t, shards, a)
		s.wantOn(a, 0, 5, 6)
		_, err = shards.TryLock(t.Context(), a)
		if f, ok := errors.AsType[*fleets.FleetError](err); !ok || !strings.HasPrefix(f.Fleet, "a/") || !errors.Is(err, redlock.ErrTaken) {
			t.Errorf("%v", err)
		}
		in, err := shards.Inspect(t.Context(), a)
		if err != nil || len(in) != 2 || in[0].Verdict != redlock.VerdictHeld || in[1].Verdict != redlock.VerdictHeld {
			t.Errorf("%v, %v", in, err)
		}
		unlock(t, h)
		all := s.held(shards.LockAll(t.Context(), []string{a, b}, redlock.WithFencing()))
		if s.on(a, 0, 5) != 6 || s.on(b, 6, 8) != 3 || all.Fence() == 0 {
			t.Error("the set is not held everywhere")
		}
		one, err := shards.LockAny(t.Context(), []string{a, b, keyOf(shards, "a", 1)})
		if err != nil || one.Key() != keyOf(shards, "a", 1) {
			t.Fatalf("%v, %v", one, err)
		}
		unlock(t, one)
		unlock(t, all)
		m := shards.RWMutex(a)
		r := s.held(m.RLock(t.Context()))
		r2 := s.held(m.RLock(t.Context()))
		wantIs(t, errorOf(m.TryLock(t.Context())), redlock.ErrTaken)
		unlock(t, r)
		unlock(t, r2)
		w := s.held(m.Lock(t.Context()))
		unlock(t, w)
	})
}

func TestReentrancyGivesAFurtherHandleInBothFleets(t *testing.T) {
	inMove(t, func(t *testing.T, m *move) {
		h := lock(t, m.l, "k", redlock.WithReentrancy())
		again := m.held(m.l.Lock(h.Context(), "k", redlock.WithReentrancy()))
		unlock(t, h)
		m.wantOn("k", 0, 2, 3)
		m.wantOn("k", 3, 7, 5)
		wantNil(t, again.Context().Err())
		unlock(t, again)
		m.wantOn("k", 0, 7, 0)
	})
}
