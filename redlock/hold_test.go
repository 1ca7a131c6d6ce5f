package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

const allowance = 102 * time.Millisecond // clock drift of a TTL of 10 s

// lastMoment is that in which a key's time has come: Redis keeps it till then.
const lastMoment = time.Millisecond

func wantReason(t *testing.T, err error, want redlock.Reason) {
	t.Helper()
	lost, ok := errors.AsType[*redlock.LostError](err)
	if !ok || lost.Reason != want {
		t.Errorf("%v: want a loss with reason %v", err, want)
	}
}

func TestRenewalIsBounded(t *testing.T) {
	t.Parallel()
	const ttl = 900 * time.Millisecond
	const validity = ttl - 11*time.Millisecond // renewed every third of it, up to a tenth of that earlier
	for _, test := range []struct {
		name        string
		renewal     redlock.Renewal
		count       int
		least, most time.Duration
	}{
		{"by count", redlock.Renewal{MaxCount: 2}, 2, 2*validity*3/10 + validity, 2*ttl/3 + ttl},
		{"by time", redlock.Renewal{MaxHold: 2 * time.Second}, 0, 2*time.Second - ttl/3 + validity, 2*time.Second + ttl},
	} {
		t.Run(test.name, func(t *testing.T) {
			inCleanSim(t, 3, func(t *testing.T, s *sim) {
				var renewals atomic.Int32
				c := s.open(redlock.WithTrace(&redlock.Trace{Renewal: func(i redlock.ExtendInfo) {
					if i.Err != nil {
						t.Errorf("renewal %d: %v", i.Count, i.Err)
					}
					renewals.Add(1)
				}}))
				l := s.lock(c, "key", redlock.WithTTL(ttl), redlock.WithRenewal(test.renewal))
				began := time.Now()
				<-l.Context().Done()
				if d := time.Since(began); d < test.least || d > test.most {
					t.Errorf("held for %v: want %v to %v", d, test.least, test.most)
				}
				if n := renewals.Load(); test.count != 0 && n != int32(test.count) {
					t.Errorf("%d renewals: want %d", n, test.count)
				}
				wantLost(t, l, redlock.ReasonExpired)
				s.eventually("the key is gone", func() bool { return len(s.keys()) == 0 })
			})
		})
	}
}

// A master that lost the key gets it again after an extension that was granted without it. It
// counts from the next extension on, never towards the one that sets it again (S6).
func TestAMasterThatLostTheKeyDoesNotCountTowardsTheExtensionThatSetsItAgain(t *testing.T) {
	inUnguardedCleanSim(t, 5, func(t *testing.T, s *sim) {
		c := s.open()
		l := s.lock(c, "key", redlock.WithLease(time.Minute))
		s.Kill(0)
		s.Restart(false, 0)
		time.Sleep(2 * time.Second) // connected again
		if err := l.Extend(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if v := s.value(0, "key"); v != "" {
			t.Fatalf("the master that restarted has %q", v)
		}
		s.Kill(1, 2) // two of five still have it
		time.Sleep(time.Second)
		until := l.ValidUntil()
		err := l.Extend(t.Context())
		wantExactly(t, err, redlock.ErrNoQuorum)
		q, ok := errors.AsType[*redlock.QuorumError](err)
		if !ok || q.Op != "extend" || q.OK > 2 || q.Need != 3 || q.Total != 5 {
			t.Fatalf("%+v: want extend, at most 2 of 5, 3 needed", q)
		}
		master := c.Masters()[0].Master
		if !slices.ContainsFunc(q.Nodes.Errors, func(err error) bool {
			n, ok := errors.AsType[*redlock.NodeError](err)
			return ok && n.Master == master && n.Err != nil
		}) {
			t.Errorf("the empty master is not named: %v", err)
		}
		if l.ValidUntil() != until || l.Context().Err() != nil {
			t.Errorf("an extension that failed moved ValidUntil by %v (%v)", l.ValidUntil().Sub(until), context.Cause(l.Context()))
		}
		s.atOnce("the key is set again", func() bool { return s.value(0, "key") == l.Token() })
		time.Sleep(time.Millisecond) // or in virtual time it would be valid no longer
		if err := l.Extend(t.Context()); err != nil {
			t.Errorf("the second extension, with three of five: %v", err)
		}
		if !l.ValidUntil().After(until) {
			t.Error("an extension that succeeded did not move ValidUntil")
		}
		unlock(t, l)
		s.Restart(true, 1, 2)
		s.eventually("they are told of the release", func() bool { return len(s.keys()) == 0 })
	})
}

// A master may keep the key for longer than this extension asks for: it is not
// shortened, or a late extension would do harm.
func TestAnExtensionNeverShortensWhatAMasterKeeps(t *testing.T) {
	inCleanSim(t, 5, func(t *testing.T, s *sim) {
		c := s.open()
		l := s.lock(c, "key", redlock.WithLease(5*time.Second))
		s.do("PEXPIRE", "key", 60_000)
		if err := l.Extend(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		for i := range s.All {
			if ttl, _ := s.All[i].TTL("key"); ttl != time.Minute {
				t.Errorf("master %d keeps the key for %v", i, ttl)
			}
		}
		unlock(t, l)
	})
}

func TestTimeThatTheMachineSleptCounts(t *testing.T) {
	inSim(t, 3, func(t *testing.T, s *sim) {
		clock := new(shiftedClock)
		c := s.open(redlock.WithClock(clock))
		l := mustLock(t, c, "key")
		clock.sleep(4 * time.Second)
		if got, want := l.Remaining(), 6*time.Second-allowance; got != want {
			t.Errorf("Remaining is %v: want %v", got, want)
		}
		// The renewer notices within its tick, and renews what is overdue.
		time.Sleep(50 * time.Millisecond)
		synctest.Wait()
		if got := l.Remaining(); got < 9*time.Second {
			t.Errorf("Remaining is %v: want it renewed", got)
		}
		clock.sleep(time.Hour)
		// Before any timer: what is asked computes.
		if l.Remaining() != 0 || l.Context().Err() == nil {
			t.Errorf("after an hour: Remaining %v, Err %v", l.Remaining(), l.Context().Err())
		}
		wantExactly(t, context.Cause(l.Context()), redlock.ErrLost)

		l2 := mustLock(t, c, "other")
		ctx := l2.Context()
		clock.sleep(time.Hour)
		began := time.Now()
		<-ctx.Done() // nobody asked
		if d := time.Since(began); d > 50*time.Millisecond {
			t.Errorf("noticed after %v: want at most 50ms", d)
		}
	})
}

// Only the wall clock shows that a virtual machine was paused, and it may have
// been set back before: while the lock was held, or before it was acquired.
func TestAStepBackOfTheWallClockHidesNoLaterStepForward(t *testing.T) {
	for _, before := range []bool{true, false} {
		t.Run(fmt.Sprintf("acquired before it: %v", before), func(t *testing.T) {
			inSim(t, 3, func(t *testing.T, s *sim) {
				clock := new(skewedClock)
				c := s.open(redlock.WithClock(clock))
				other := mustLock(t, c, "other") // has the renewer look at the clock
				acquire := func() *redlock.Lock { return mustLock(t, c, "key", redlock.WithLease(10*time.Second)) }
				var l *redlock.Lock
				if before {
					l = acquire()
				}
				clock.step(-20 * time.Second)
				time.Sleep(time.Second)
				if !before {
					l = acquire()
				}
				left := l.Remaining()
				clock.step(4 * time.Second)
				if got, want := l.Remaining(), left-4*time.Second; got != want {
					t.Errorf("4s after a step forward by 4s %v remain: want %v", got, want)
				}
				time.Sleep(50 * time.Millisecond)
				synctest.Wait()
				if got := other.Remaining(); got < 9*time.Second {
					t.Errorf("what is renewed has %v left: want it renewed at once", got)
				}
				if got, want := l.Remaining(), left-4*time.Second-50*time.Millisecond; got != want || l.Context().Err() != nil {
					t.Errorf("%v remain, the context says %v: want %v", got, l.Context().Err(), want)
				}
				ctx := l.Context()
				clock.step(15 * time.Second)
				began := time.Now()
				select {
				case <-ctx.Done(): // nobody asked
				case <-time.After(time.Second):
				}
				if d := time.Since(began); d > 50*time.Millisecond {
					t.Errorf("noticed after %v: want at most 50ms", d)
				}
				wantReason(t, context.Cause(ctx), redlock.ReasonExpired)
			})
		})
	}
}

// Unlock always sends: under a context that is over, and while masters hang.
func TestUnlockUnderAContextThatIsOverStillSends(t *testing.T) {
	inUnguardedCleanSim(t, 5, func(t *testing.T, s *sim) {
		c := s.patient()
		over, cancel := context.WithCancel(t.Context())
		cancel()
		l := s.lock(c, "key", redlock.WithTTL(time.Minute))
		if err := l.Unlock(over); err != nil {
			wantExactly(t, err, redlock.ErrNoQuorum, context.Canceled) // it did not wait for the answers
		}
		s.wantFree("key")
		wantExactly(t, context.Cause(l.Context()), redlock.ErrUnlocked)

		l = s.lock(c, "key", redlock.WithTTL(time.Minute))
		s.Freeze(0, 1, 2)
		var err error
		within(t, 0, func() { err = l.Unlock(over) })
		wantExactly(t, err, redlock.ErrNoQuorum, context.Canceled)
		wantExactly(t, l.Unlock(t.Context()), redlock.ErrNotHeld, redlock.ErrUnlocked)
		s.wantFree("key")
		s.Thaw(0, 1, 2)
		s.wantFree("key")
	})
}

func TestAdoptTakesOverWhatAnotherClientHandedOn(t *testing.T) {
	t.Parallel()
	inCleanSim(t, 5, func(t *testing.T, s *sim) {
		giver, taker, third := s.open(), s.open(), s.open()
		l := s.lock(giver, "key", redlock.WithTTL(2*time.Second), redlock.WithRenewal(redlock.Renewal{Every: 20 * time.Millisecond}))
		ctx := l.Context()
		token, err := l.HandOver()
		if err != nil || token != l.Token() {
			t.Fatal(token, err)
		}
		wantExactly(t, context.Cause(ctx), redlock.ErrUnlocked)
		wantExactly(t, l.Unlock(t.Context()), redlock.ErrNotHeld, redlock.ErrUnlocked)
		wantExactly(t, l.Extend(t.Context()), redlock.ErrNotHeld, redlock.ErrUnlocked)
		if n := s.holding("key", token); n < 3 {
			t.Fatalf("%d masters have the token between the two", n)
		}
		l2, err := taker.Adopt(t.Context(), "key", token, redlock.WithTTL(time.Second))
		if err != nil {
			t.Fatal(err)
		}
		if l2.Token() == token || l2.Key() != "key" {
			t.Errorf("adopted %q with token %q: want a new one", l2.Key(), l2.Token())
		}
		_, err = third.Adopt(t.Context(), "key", token)
		wantExactly(t, err, redlock.ErrNotHeld)
		// The giver's end is none of the adopter's business.
		_ = giver.Close()
		// For more than the TTL of the one who handed it over, too.
		for began := time.Now(); time.Since(began) < 3*time.Second; time.Sleep(100 * time.Millisecond) {
			_, err := third.TryLock(t.Context(), "key")
			wantExactly(t, err, redlock.ErrTaken)
			if l2.Context().Err() != nil {
				t.Fatalf("the adopted hold ended: %v", context.Cause(l2.Context()))
			}
		}
		if err := l2.Verify(t.Context()); err != nil {
			t.Errorf("the adopted lock was not renewed: %v", err)
		}
		if err := l2.Extend(t.Context()); err != nil {
			t.Error(err)
		}
		unlock(t, l2)
		s.wantFree("key")
	})
}

// An acquisition or extension may still be under way when the lock is handed over. It
// must not set the key again after the next holder has released it.
func TestHandOverWaitsForWhatIsUnderWay(t *testing.T) {
	for name, underWay := range map[string]func(t *testing.T, s *sim, c *redlock.Client) *redlock.Lock{
		"acquisition": func(t *testing.T, s *sim, c *redlock.Client) *redlock.Lock {
			s.Freeze(0, 1)
			return mustLock(t, c, "key")
		},
		"extension": func(t *testing.T, s *sim, c *redlock.Client) *redlock.Lock {
			l := mustLock(t, c, "key")
			synctest.Wait()
			s.Freeze(0, 1)
			if err := l.Extend(t.Context()); err != nil {
				t.Fatal(err)
			}
			return l
		},
	} {
		t.Run(name, func(t *testing.T) {
			inSim(t, 5, func(t *testing.T, s *sim) {
				c, taker := s.open(), s.open()
				l := underWay(t, s, c)
				time.AfterFunc(100*time.Millisecond, func() { s.All[0].Thaw(); s.All[1].Thaw() })
				began := time.Now()
				token, err := l.HandOver()
				if err != nil {
					t.Fatal(err)
				}
				if d := time.Since(began); d != 100*time.Millisecond {
					t.Errorf("handed over after %v: want when the masters had answered", d)
				}
				l, err = taker.Adopt(t.Context(), "key", token)
				if err != nil {
					t.Fatal(err)
				}
				unlock(t, l)
				s.wantClean()

				l = underWay(t, s, c)
				within(t, 1250*time.Millisecond, func() { _, err = l.HandOver() }) // until the connections are given up
				if err != nil {
					t.Error(err)
				}
				s.Thaw(0, 1)
			})
		})
	}
}

// A renewal is waited for longer than other questions are. It may still set the key after the
// next holder has released it.
func TestHandOverWaitsForARenewalThatIsLate(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		c, taker := s.open(redlock.WithTTL(10*time.Second)), s.open()
		l := mustLock(t, c, "key")
		s.Freeze(0, 1, 2)
		time.Sleep(3300 * time.Millisecond) // a renewal is under way
		time.AfterFunc(600*time.Millisecond, func() { s.All[0].Thaw(); s.All[1].Thaw(); s.All[2].Thaw() })
		began := time.Now()
		token, err := l.HandOver()
		if err != nil {
			t.Fatal(err)
		}
		if d := time.Since(began); d != 600*time.Millisecond {
			t.Errorf("handed over after %v: want when the masters had answered", d)
		}
		if l, err = taker.Adopt(t.Context(), "key", token); err != nil {
			t.Fatal(err)
		}
		unlock(t, l)
		settle()
		s.wantClean()
	})
}

// A master may have missed the script of an adoption, which is not sent again behind the
// release. The token that it was to replace goes with the hold that replaced it elsewhere.
func TestAnAdoptedLockLeavesNothingWhereItDidNotComeIn(t *testing.T) {
	for name, options := range map[string][]redlock.Option{"plain": nil, "strict": {redlock.WithStrict()}} {
		t.Run(name, func(t *testing.T) {
			inSim(t, 5, func(t *testing.T, s *sim) {
				c, taker := s.open(options...), s.open(options...)
				token, err := mustLock(t, c, "key").HandOver()
				if err != nil {
					t.Fatal(err)
				}
				s.Ask(0, "SCRIPT", "FLUSH")
				s.Ask(1, "SCRIPT", "FLUSH")
				s.Freeze(0, 1)
				unlock(t, s.must(taker.Adopt(t.Context(), "key", token)))
				s.Thaw(0, 1)
				settle()
				s.wantClean()
			})
		})
	}
}

func TestAnAdoptedLockThatIsNotUnlockedTakesTheOldTokenAlongToo(t *testing.T) {
	for name, ends := range map[string]func(t *testing.T, s *sim, l *redlock.Lock, c *redlock.Client){
		"closed": func(_ *testing.T, _ *sim, _ *redlock.Lock, c *redlock.Client) { _ = c.Close() },
		"handed on": func(t *testing.T, s *sim, l *redlock.Lock, c *redlock.Client) {
			token, err := l.HandOver()
			if err != nil {
				t.Fatal(err)
			}
			unlock(t, s.must(c.Adopt(t.Context(), "key", token)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			inSim(t, 5, func(t *testing.T, s *sim) {
				taker := s.open()
				token, err := mustLock(t, s.open(), "key").HandOver()
				if err != nil {
					t.Fatal(err)
				}
				s.Kill(0, 1)
				l := s.must(taker.Adopt(t.Context(), "key", token))
				s.Restart(true, 0, 1)
				time.Sleep(time.Second) // they are connected again
				if n := s.holders("key", token); n != 2 {
					t.Fatalf("%d masters have the old token, want 2", n)
				}
				ends(t, s, l, taker)
				s.wantClean()
			})
		})
	}
}

// A minority that has the token is no hold, a majority is one, and whoever names a
// wrong token touches nothing.
func TestAdoptVerifiesAtAQuorum(t *testing.T) {
	inUnguardedCleanSim(t, 5, func(t *testing.T, s *sim) {
		c, other := s.open(), s.open()
		adopt := func(key, token string) error {
			_, err := c.Adopt(t.Context(), key, token, redlock.WithTTL(time.Minute))
			return err
		}
		wantExactly(t, adopt("free", "no-such-token"), redlock.ErrNotHeld)
		s.wantFree("free")
		l := s.lock(other, "key", redlock.WithLease(time.Minute))
		s.do("PEXPIRE", "key", 30_000)
		wantExactly(t, adopt("key", l.Token()+"x"), redlock.ErrNotHeld)
		if adopt("key", "") == nil {
			t.Error("an empty token was accepted")
		}
		synctest.Wait()
		for i := range s.All {
			left, _ := s.All[i].TTL("key")
			if v := s.value(i, "key"); v != l.Token() || left > 30*time.Second {
				t.Errorf("master %d: %q with %v left, want it untouched", i, v, left)
			}
		}
		s.Kill(0, 1, 2)
		wantExactly(t, adopt("key", l.Token()), redlock.ErrNoQuorum)
		s.Restart(true, 0, 1, 2)
		time.Sleep(2 * time.Second) // connected again
		time.Sleep(2 * time.Second) // connected again
		if err := l.Verify(t.Context()); err != nil {
			t.Errorf("the holder suffered: %v", err)
		}
		unlock(t, l)
		s.wantFree("key")

		s.doOn([]int{0, 1}, "SET", "key", "token", "PX", 60_000)
		wantExactly(t, adopt("key", "token"), redlock.ErrNotHeld)
		// The attempt has used the token up where it came in before it was decided.
		s.atOnce("only the token is left", func() bool { return s.holding("key", "")+s.holding("key", "token") == 5 })
		s.do("DEL", "key")
		s.doOn([]int{0, 1, 2}, "SET", "key", "token", "PX", 60_000)
		s.foreign("key", 3)
		l, err := c.Adopt(t.Context(), "key", "token")
		if err != nil {
			t.Fatalf("Adopt of three of five: %v", err)
		}
		unlock(t, l)
		s.atOnce("ours is released", func() bool { return s.holding("key", "") == 4 })
		if v := s.value(3, "key"); v != stranger {
			t.Errorf("the stranger's key is %q", v)
		}
		s.do("DEL", "key")
	})
}

func TestWithContextEndsWithWhicheverEndsFirst(t *testing.T) {
	type key struct{}
	inSim(t, 3, func(t *testing.T, s *sim) {
		c := s.open()
		parent, cancelParent := context.WithCancelCause(context.WithValue(t.Context(), key{}, "value"))
		defer cancelParent(nil)

		l := mustLock(t, c, "a", redlock.WithLease(time.Second))
		ctx, cancel := l.WithContext(parent)
		defer cancel()
		if ctx.Value(key{}) != "value" {
			t.Error("the caller's values are missing")
		}
		if got, ok := redlock.FromContext(ctx); !ok || got != l {
			t.Error("FromContext does not find the lock")
		}
		<-ctx.Done()
		wantExactly(t, context.Cause(ctx), redlock.ErrLost)
		if parent.Err() != nil {
			t.Error("the caller's context ended too")
		}

		l = mustLock(t, c, "b")
		ctx, cancel = l.WithContext(parent)
		defer cancel()
		boom := errors.New("boom")
		cancelParent(boom)
		<-ctx.Done()
		if got := context.Cause(ctx); !errors.Is(got, boom) {
			t.Errorf("cause is %v", got)
		}
		if l.Context().Err() != nil {
			t.Error("the lock ended with the caller's context")
		}
		unlock(t, l)
	})
}

// One handle, used by many goroutines at once while it is unlocked: exactly one
// Unlock succeeds, and no extension sets the key again behind it.
func TestALockMayBeUsedFromManyGoroutines(t *testing.T) {
	inCleanSim(t, 5, func(t *testing.T, s *sim) {
		c := s.open()
		ended := func(what string, err error) bool {
			if err != nil && !errors.Is(err, redlock.ErrUnlocked) {
				t.Errorf("%s: %v", what, err)
			} else if err != nil {
				wantExactly(t, err, redlock.ErrNotHeld, redlock.ErrUnlocked)
			}
			return err != nil
		}
		for n := range 40 {
			l := s.lock(c, fmt.Sprint("key-", n), redlock.WithTTL(time.Minute), redlock.WithRenewal(redlock.Renewal{Every: 5 * time.Millisecond}))
			var wg sync.WaitGroup
			var unlocked, extended atomic.Int32
			for range 3 {
				wg.Go(func() {
					for !ended("Extend", l.Extend(t.Context())) {
						extended.Add(1)
					}
				})
			}
			wg.Go(func() {
				for !ended("Verify", l.Verify(t.Context())) {
					continue
				}
			})
			for range 2 {
				wg.Go(func() {
					lock := l.Context()
					bound, cancel := l.WithContext(t.Context())
					defer cancel()
					var until time.Time
					for lock.Err() == nil {
						if now := l.ValidUntil(); now.Before(until) {
							t.Errorf("ValidUntil went back by %v", until.Sub(now))
						} else {
							until = now
						}
						if l.Remaining() <= 0 && l.Context().Err() == nil {
							t.Error("nothing remains of a lock that is held")
						}
						_, _, _ = l.Key(), l.Keys(), l.Token()
						runtime.Gosched()
					}
					<-bound.Done()
					wantExactly(t, context.Cause(bound), redlock.ErrUnlocked)
				})
			}
			for range 10 {
				wg.Go(func() {
					for extended.Load() < int32(n%5) && l.Context().Err() == nil { // sooner or later
						runtime.Gosched()
					}
					if !ended("Unlock", l.Unlock(t.Context())) {
						unlocked.Add(1)
					}
				})
			}
			wg.Wait()
			if unlocked.Load() != 1 {
				t.Errorf("Unlock succeeded %d times", unlocked.Load())
			}
			s.wantFree(l.Key())
		}
	})
}

// wantLost fails unless the lock's context has ended by a loss for this reason.
func wantLost(t *testing.T, l *redlock.Lock, reason redlock.Reason) {
	t.Helper()
	ctx := l.Context()
	if ctx.Err() == nil {
		t.Errorf("the lock's context lives, want it lost: %v", reason)
		return
	}
	want := []error{redlock.ErrLost}
	if reason == redlock.ReasonClosed {
		want = append(want, redlock.ErrClosed)
	}
	wantExactly(t, context.Cause(ctx), want...)
	wantReason(t, context.Cause(ctx), reason)
	if lost, ok := errors.AsType[*redlock.LostError](context.Cause(ctx)); ok && lost.Key != l.Key() {
		t.Errorf("lost %q, want %q", lost.Key, l.Key())
	}
	if left := l.Remaining(); left != 0 {
		t.Errorf("a lost lock has %v remaining", left)
	}
}
