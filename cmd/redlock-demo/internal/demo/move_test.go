package demo

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redquorum/redquorum/redlock"
	"github.com/redquorum/redquorum/redlock/fleets"
)

// fastMove are options of a move of about eight seconds, of which the quarantine is five.
func fastMove() Options {
	o := fast()
	o.trusting, o.Buyers, o.ready = false, 2, 30*time.Second
	return o
}

// Moves are not run in parallel: eight masters and the programs' many clients would slow down
// the runs of others.

// moved is a move with the options, and what it printed.
func moved(t *testing.T, o Options) (*Result, string, error) {
	t.Helper()
	var out buffer
	o.Screen = NewScreen(&out, false, false, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	res, err := Move(ctx, masters(t, MoveFrom), masters(t, MoveTo), o)
	return res, out.String(), err
}

func TestEveryExpectationOfAMoveHolds(t *testing.T) {
	o := fastMove()
	res, text, err := moved(t, o)
	if err != nil || res.Verdict != VerdictPassed || res.Failed() != 0 || len(res.Expectations) != 16 {
		t.Fatalf("%v\n%s", err, text)
	}
	const names = "phase 1, an old one gone, phases 1 and 2, phase 2, a new one gone, closed, phases 2 and 3, phase 3, the old ones gone"
	if got := phaseNames(res); got != names {
		t.Fatalf("phases %s, want %s", got, names)
	}
	for i, up := range []int{8, 7, 7, 7, 6, 6, 6, 6, 4} {
		if p := res.Phases[i]; p.MastersUp != up || p.Sales == 0 || !p.Lock {
			t.Errorf("%+v, want %d masters up", p, up)
		}
	}
	if closed := res.Phases[5]; closed.Duration.duration() < o.TTL {
		t.Errorf("phase 3 began before the locks of before were over: %+v", closed)
	}
	if m := res.Settings.Move; m == nil || *m != (MoveSettings{3, 2, 5, 3}) || res.Settings.Clients != 2 {
		t.Errorf("%+v", res.Settings)
	}
	for i, m := range res.Masters {
		if fleet := map[bool]string{true: fleetFrom, false: fleetTo}[i < MoveFrom]; m.Fleet != fleet || (m.State == stateUp) != (i > MoveFrom) {
			t.Errorf("master %d at the end: %+v", i+1, m)
		}
	}
	if e := expectation(t, res, "fencing tokens rise"); !regexp.MustCompile(`^\d+ tokens, 0 not above the one before$`).MatchString(e.Detail) {
		t.Errorf("%+v", e)
	}
	checkPlain(t, text,
		`(?m)^   3 old masters in this process, 2 are a quorum\n   5 new masters in this process, 3 are a quorum$`,
		`(?m)^   old 3  127\.0\.0\.1:\d+  ✓ up   .*\n   new 1  127`,
		`(?m)^1  Phase 1: the old masters$`,
		`→ old master 1 is killed\n +1 ✗ gone +2 ✓ up +3 ✓ up +2 of 3: a quorum`,
		`(?m)^2  Phase 2: both$`,
		`→ new master 1 is killed\n +1 ✗ gone +2 ✓ up +3 ✓ up +4 ✓ up +5 ✓ up +4 of 5: a quorum`,
		`✓ 2 of 3 old masters are told; locks of before are over in \d`,
		`✓ a program that was forgotten in phase 1: no quorum, for this fleet is being\n     moved`,
		`→ old master 3 is killed\n +1 ✗ gone +2 ✗ gone +3 ✗ gone +0 of 3: no quorum`,
		`(?m)^   phases 1 and 2 +7 of 8 +\d+ `,
		`(?m)^PASSED all 16 expectations held, in \d`,
	)
}

// Programs that do not lock, and that refuse twice in a row at first, break what has to hold.
func TestAMoveWithoutALockIsSeenToFail(t *testing.T) {
	o := fastMove()
	o.guardOf = func(*program) guard {
		var calls atomic.Int32
		return func(ctx context.Context, fn func(ctx context.Context) error) error {
			if calls.Add(1) <= 2 {
				return errors.Join(redlock.ErrNoQuorum, &redlock.QuorumError{Op: "lock", Need: 2, Total: 3})
			}
			return fn(ctx)
		}
	}
	res, text, err := moved(t, o)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	wantFailed(t, res, "no update is lost", "the lock excludes", "fencing tokens rise", "no sale is refused for longer than a round")
}

func TestAMoveThatIsInterruptedLeavesNothing(t *testing.T) {
	from, to := masters(t, MoveFrom), masters(t, MoveTo)
	o := fastMove()
	reason := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	var both sync.Once
	o.guardOf = func(p *program) guard {
		return func(ctx context.Context, fn func(ctx context.Context) error) error {
			return p.sell(ctx, func(ctx context.Context) error {
				if l, ok := redlock.FromContext(ctx); ok && to.masters[4].Keys() != nil && slices.Contains(to.masters[4].Keys(), l.Key()) {
					both.Do(func() { cancel(reason) }) // while a lock is held in both fleets
				}
				return fn(ctx)
			})
		}
	}
	res, err := Move(ctx, from, to, o)
	if !errors.Is(err, reason) || res.Verdict != VerdictInterrupted || res.Error != reason.Error() {
		t.Fatalf("error %v, result %+v", err, res)
	}
	for _, side := range []*embedded{from, to} {
		for _, m := range side.masters {
			if !m.Up() {
				continue
			}
			for end := time.Now().Add(2 * time.Second); slices.Contains(m.Keys(), res.Settings.Key); time.Sleep(time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("%s holds %q", m.Addr(), m.Keys())
				}
			}
		}
	}
}

// A notClosed is a fleet that was not closed: it grants a lock, and then the test is over.
type notClosed struct {
	fleets.Locker
	granted context.CancelFunc
}

func (n notClosed) TryLock(ctx context.Context, key string, opts ...redlock.LockOption) (fleets.Hold, error) {
	h, err := n.Locker.TryLock(ctx, key, opts...)
	if err == nil {
		n.granted()
	}
	return h, err
}

func TestAProgramThatIsNotToldIsNoticed(t *testing.T) {
	t.Parallel()
	c, err := redlock.Open(masters(t, 1).URLs(), redlock.WithGuard(redlock.GuardOff))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	l := notClosed{fleets.One(c), cancel}
	defer func() { _ = l.Close() }()
	o := fast()
	o.refusal = time.Minute
	m := &move{run: &run{Options: o, key: "k"}}
	if err := m.isTold(ctx, l); err == nil || m.toldText(err) != "it should be refused: it gets the lock" {
		t.Errorf("%v", err)
	}
}

func TestTokensThatDoNotRiseAreCounted(t *testing.T) {
	t.Parallel()
	var d door
	d.enter(1, t.Context()) // with no lock
	for _, token := range []uint64{3, 4, 4, 9, 7, 8, 10} {
		d.note(token)
	}
	if all, fell := d.tokensSeen(); all != 7 || fell != 3 {
		t.Errorf("%d tokens, %d not above the one before", all, fell)
	}
}
