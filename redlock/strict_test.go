package redlock_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/redlock"
)

// turnClocks sets the clocks of these masters; none given: of all.
func (s *sim) turnClocks(off time.Duration, masters ...int) {
	if masters == nil {
		masters = []int{0, 1, 2, 3, 4}
	}
	for _, i := range masters {
		s.All[i].SetClockOffset(off)
	}
}

func TestAMasterWhoseClockIsOffDoesNotVote(t *testing.T) {
	for _, off := range []time.Duration{time.Minute, -time.Hour, 600 * time.Millisecond, -600 * time.Millisecond} {
		inUnguardedSim(t, 5, func(t *testing.T, s *sim) {
			c := s.open(redlock.WithStrict())
			s.turnClocks(off, 0, 1)
			l := mustLock(t, c, "key") // by the other three
			if err := l.Extend(t.Context()); err != nil {
				t.Error(err)
			}
			s.turnClocks(off, 2)
			synctest.Wait()
			err := l.Extend(t.Context())
			wantOff(t, err, off)
			_ = l.Unlock(t.Context()) // a jump forward has deleted it on the third
			synctest.Wait()

			_, err = c.TryLock(t.Context(), "key")
			wantExactly(t, err, redlock.ErrNoQuorum)
			wantOff(t, err, off)
			_, err = c.RWMutex("rw").TryRLock(t.Context())
			wantOff(t, err, off)
			synctest.Wait()
			s.turnClocks(0)
			s.wantClean()
		})
	}
}

// wantOff fails unless err says that this client's clock is off, because the clocks of a quorum of
// five masters are off by this much.
func wantOff(t *testing.T, err error, off time.Duration) {
	t.Helper()
	masters := 0
	for _, node := range nodes(err) {
		why, ok := errors.AsType[*redlock.AbstainError](node)
		if ok && why.Cause == guard.OffClock && why.Ours && (why.By.Middle()-off).Abs() <= time.Millisecond && why.Want == "500ms" {
			masters++
		}
	}
	if masters < 3 {
		t.Errorf("%v: want this client's clock to be %v off", err, -off)
	}
}

func TestAClientWhoseClockIsOffIsToldByHowMuch(t *testing.T) {
	for _, off := range []time.Duration{time.Hour, -time.Hour} {
		inUnguardedSim(t, 5, func(t *testing.T, s *sim) {
			c := s.open(redlock.WithStrict(), redlock.WithClock(&skewedClock{off: off}))
			within(t, 5*time.Second, func() {
				_, err := c.Lock(t.Context(), "key")
				wantExactly(t, err, redlock.ErrNoQuorum)
				wantOff(t, err, -off)
				if !strings.Contains(err.Error(), ": its clock is 1h0m0s ± 0s ") || !strings.Contains(err.Error(), "at most 500ms is accepted, and most masters differ in the same way: correct this machine's clock") {
					t.Errorf("the error does not say so: %v", err)
				}
			})
			s.wantClean()
		})
	}
}

// The clocks of three masters jump a minute and are right again 0.3 s later: by
// then Redis has deleted the locks.
func TestACorrectedJumpLetsNobodyIn(t *testing.T) {
	inUnguardedSim(t, 5, func(t *testing.T, s *sim) {
		a, b := s.open(redlock.WithStrict()), s.open(redlock.WithStrict())
		jump := func() {
			s.turnClocks(time.Minute, 0, 1, 2)
			time.Sleep(300 * time.Millisecond)
			s.turnClocks(0, 0, 1, 2)
		}
		writer := mustLock(t, a, "key", redlock.WithLease(10*time.Second))
		jump()
		if n := s.holders("key", writer.Token()); n != 2 {
			t.Fatalf("%d masters have the lock, want 2: the jump has not deleted it", n)
		}
		_, err := b.TryLock(t.Context(), "key")
		if wantExactly(t, err, redlock.ErrTaken); err == nil {
			t.Fatal("two hold the lock")
		}
		var leased int
		for _, e := range nodes(err) {
			if h, ok := errors.AsType[*redlock.Holder](e); ok && h.Type == "lease" && h.Token == writer.Token() && h.TTL > 9*time.Second {
				leased++
			}
		}
		if leased == 0 || // it was decided before all masters answered
			!strings.Contains(err.Error(), "leased to ") {
			t.Errorf("no master names the lease: %v", err)
		}
		_, err = b.RWMutex("key").TryRLock(t.Context())
		wantExactly(t, err, redlock.ErrTaken)
		if writer.Remaining() == 0 {
			t.Error("the writer's hold is over before that showed anything")
		}
		_ = writer.Unlock(t.Context())
		synctest.Wait()

		reader := s.must(a.RWMutex("key").RLock(t.Context(), redlock.WithLease(10*time.Second)))
		jump()
		_, err = b.TryLock(t.Context(), "key")
		wantExactly(t, err, redlock.ErrTaken)
		if beside, err := b.RWMutex("key").TryRLock(t.Context()); err != nil {
			t.Error(err)
		} else {
			unlock(t, beside)
		}
		_ = reader.Unlock(t.Context())
		synctest.Wait()
		unlock(t, mustLock(t, b, "key"))

		// A waiter gets the lock when the lease is over, though nobody released it.
		held := mustLock(t, a, "key", redlock.WithLease(10*time.Second))
		jump()
		q := s.queue(b, "key")
		next := q.mustHave(t)
		if held.Remaining() > 0 {
			t.Error("two hold the lock")
		}
		if q.took < 8*time.Second || q.took > 11*time.Second {
			t.Errorf("it took %v", q.took)
		}
		unlock(t, next)
	})
}

// The clocks are as far behind as they may be when the lock is granted, and as far ahead when the
// next client comes. The TTL of each request sets that limit: the next client's may be longer. In
// some cases the clocks of the clients differ too, by E.
func TestValidityEndsBeforeSkewedClocksGiveTheLockAway(t *testing.T) {
	for name, test := range map[string]struct {
		first, next           time.Duration // TTLs
		behind, ahead, client time.Duration
	}{
		"one TTL":         {10 * time.Second, 10 * time.Second, 450 * time.Millisecond, 450 * time.Millisecond, 0},
		"one TTL, and E":  {10 * time.Second, 10 * time.Second, 490 * time.Millisecond, 580 * time.Millisecond, 90 * time.Millisecond},
		"a longer one":    {time.Second, 5 * time.Second, 80 * time.Millisecond, 450 * time.Millisecond, 0},
		"a longer, and E": {2 * time.Second, time.Minute, 190 * time.Millisecond, 580 * time.Millisecond, 90 * time.Millisecond},
		"a shorter one":   {5 * time.Second, time.Second, 450 * time.Millisecond, 80 * time.Millisecond, 0},
	} {
		t.Run(name, func(t *testing.T) {
			inUnguardedSim(t, 5, func(t *testing.T, s *sim) {
				exact := redlock.WithDrift(drift.Policy{})
				a := s.open(redlock.WithStrict(), exact)
				b := s.open(redlock.WithStrict(), exact, redlock.WithClock(&skewedClock{off: test.client}))
				s.turnClocks(-test.behind)
				held := mustLock(t, a, "key", redlock.WithLease(test.first))
				s.turnClocks(test.ahead)
				time.Sleep(test.first - test.behind - test.ahead + 2*time.Millisecond)
				next, err := b.TryLock(t.Context(), "key", redlock.WithTTL(test.next))
				if err != nil {
					t.Fatalf("the clocks have not given the lock away: %v", err)
				}
				if left := held.Remaining(); left > 0 {
					t.Errorf("two hold the lock, the first for %v more", left)
				}
				unlock(t, next)
			})
		})
	}
}

// A lock whose validity is a small part of its TTL is renewed by that, and not all the time.
func TestARenewalFollowsTheValidityWhereThatIsAShortPartOfTheTTL(t *testing.T) {
	for name, test := range map[string]struct {
		opts     []redlock.Option
		validity time.Duration
	}{
		"strict":               {[]redlock.Option{redlock.WithStrict(), redlock.WithTTL(time.Second)}, 288 * time.Millisecond},
		"strict, a large E":    {[]redlock.Option{redlock.WithStrict(), redlock.WithTTL(1300 * time.Millisecond), redlock.WithClockError(300 * time.Millisecond)}, 355 * time.Millisecond},
		"a large drift":        {[]redlock.Option{redlock.WithTTL(time.Second), redlock.WithDrift(drift.Policy{Factor: 0.5})}, 500 * time.Millisecond},
		"an interval too long": {[]redlock.Option{redlock.WithStrict(), redlock.WithTTL(time.Second), redlock.WithRenewal(redlock.Renewal{Every: 500 * time.Millisecond})}, 288 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			inUnguardedSim(t, 5, func(t *testing.T, s *sim) {
				var renewals atomic.Int32
				s.placeAway(func(int) time.Duration { return time.Millisecond })
				c := s.open(append(test.opts, redlock.WithTrace(&redlock.Trace{Renewal: func(redlock.ExtendInfo) { renewals.Add(1) }}))...)
				l := mustLock(t, c, "key")
				if got := l.Remaining(); got > test.validity || got < test.validity-10*time.Millisecond {
					t.Errorf("%v left, want %v", got, test.validity)
				}
				const while = 3 * time.Second
				time.Sleep(while)
				least, most := int(while/(test.validity/2)), int(while/(test.validity*27/100))
				if n := int(renewals.Load()); n < least || n > most {
					t.Errorf("%d renewals in %v, want %d to %d", n, while, least, most)
				}
				unlock(t, l)
			})
		})
	}
}

// nodes returns what each master contributed to a failure.
func nodes(err error) []error {
	q, ok := errors.AsType[*redlock.QuorumError](err)
	if !ok || q.Nodes == nil {
		return nil
	}
	return q.Nodes.Errors
}
