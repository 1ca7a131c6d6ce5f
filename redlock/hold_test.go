package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/internal/script"
	"github.com/redquorum/redquorum/redlock"
)

const allowance = 102 * time.Millisecond // clock drift of a TTL of 10 s

// lastMoment is that in which a key's time has come: Redis keeps it till then.
const lastMoment = time.Millisecond

func TestValidityIsTheTTLLessElapsedTimeAndDrift(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		l := mustLock(t, s.open(), "key")
		if got, want := l.Remaining(), 10*time.Second-allowance; got != want {
			t.Errorf("Remaining is %v: want %v", got, want)
		}
		if got, want := l.ValidUntil(), time.Now().Add(10*time.Second-allowance); !got.Equal(want) {
			t.Errorf("ValidUntil is %v: want %v", got, want)
		}
		time.Sleep(time.Second)
		if got, want := l.Remaining(), 9*time.Second-allowance; got != want {
			t.Errorf("a second later Remaining is %v: want %v", got, want)
		}
	})
}

func TestALeaseEndsByItselfBeforeTheMastersExpireIt(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		c := s.open()
		l := mustLock(t, c, "key", redlock.WithLease(10*time.Second))
		began := time.Now()
		<-l.Context().Done()
		if got, want := time.Since(began), 10*time.Second-allowance; got != want {
			t.Errorf("the context ended after %v: want %v", got, want)
		}
		if got := s.holders("key", l.Token()); got != 5 {
			t.Errorf("when the context ended %d masters had the key: want all", got)
		}
		wantExactly(t, context.Cause(l.Context()), redlock.ErrLost)
		wantReason(t, context.Cause(l.Context()), redlock.ReasonExpired)
		if l.Remaining() != 0 {
			t.Errorf("Remaining is %v", l.Remaining())
		}
		time.Sleep(allowance + lastMoment)
		s.wantClean()
		// The key is free, and stays so: the lock is lost for good (S6).
		wantExactly(t, l.Extend(t.Context()), redlock.ErrLost, redlock.ErrNotHeld)
		wantExactly(t, l.Verify(t.Context()), redlock.ErrLost, redlock.ErrNotHeld)
		s.wantClean()
		wantExactly(t, l.Unlock(t.Context()), redlock.ErrLost, redlock.ErrNotHeld)
	})
}

func wantReason(t *testing.T, err error, want redlock.Reason) {
	t.Helper()
	lost, ok := errors.AsType[*redlock.LostError](err)
	if !ok || lost.Reason != want {
		t.Errorf("%v: want a loss with reason %v", err, want)
	}
}

func TestALockIsRenewedUntilUnlock(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		var mu sync.Mutex
		var renewals []time.Time
		c := s.open(redlock.WithTrace(&redlock.Trace{Renewal: func(i redlock.RenewalInfo) {
			mu.Lock()
			defer mu.Unlock()
			renewals = append(renewals, time.Now())
			if i.Err != nil || i.Count != len(renewals) {
				t.Errorf("renewal %d: %+v", len(renewals), i)
			}
		}}))
		l := mustLock(t, c, "key", redlock.WithTTL(9*time.Second))
		began := time.Now()
		time.Sleep(5 * time.Minute)
		if err := l.Context().Err(); err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		// Every third of the TTL, up to a tenth of that earlier.
		if n := len(renewals); n < 100 || n > 112 {
			t.Errorf("%d renewals in 5 minutes", n)
		}
		last := began
		for _, at := range renewals {
			if d := at.Sub(last); d < 2700*time.Millisecond || d > 3*time.Second {
				t.Errorf("a renewal came %v after the one before", d)
			}
			last = at
		}
		renewed := len(renewals)
		mu.Unlock()
		if err := l.Unlock(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		mu.Lock()
		defer mu.Unlock()
		if len(renewals) != renewed {
			t.Errorf("%d renewals after Unlock", len(renewals)-renewed)
		}
		s.wantClean()
	})
}

func TestRenewalIsBounded(t *testing.T) {
	for _, test := range []struct {
		name        string
		renewal     redlock.Renewal
		least, most time.Duration
	}{
		{"by count", redlock.Renewal{MaxCount: 2}, 2*2700*time.Millisecond + 9*time.Second - 92*time.Millisecond, 2*3*time.Second + 9*time.Second},
		{"by time", redlock.Renewal{MaxHold: 20 * time.Second}, 20*time.Second - 3*time.Second + 9*time.Second - 92*time.Millisecond, 29 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			inSim(t, 3, func(t *testing.T, s *sim) {
				l := mustLock(t, s.open(), "key", redlock.WithTTL(9*time.Second), redlock.WithRenewal(test.renewal))
				began := time.Now()
				<-l.Context().Done()
				if d := time.Since(began); d < test.least || d > test.most {
					t.Errorf("held for %v: want %v to %v", d, test.least, test.most)
				}
				wantReason(t, context.Cause(l.Context()), redlock.ReasonExpired)
			})
		})
	}
}

// An extension that is on its way does not keep the context alive (S7).
func TestTheContextEndsOnTimeWhileAnExtensionIsUnderWay(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		c := s.open()
		l := mustLock(t, c, "key", redlock.WithTTL(600*time.Millisecond))
		began := time.Now()
		s.freeze(0, 1, 2)
		<-l.Context().Done()
		if got, want := time.Since(began), 592*time.Millisecond; got != want { // 600 - 6 - 2
			t.Errorf("the context ended after %v: want %v", got, want)
		}
		wantExactly(t, context.Cause(l.Context()), redlock.ErrLost)
		wantReason(t, context.Cause(l.Context()), redlock.ReasonUnreachable)
		// The frozen masters grant the extensions now: too late.
		s.thaw(0, 1, 2)
		time.Sleep(time.Second)
		wantExactly(t, l.Extend(t.Context()), redlock.ErrLost, redlock.ErrNotHeld)
		s.wantClean()
	})
}

func TestARenewalThatFailsIsTriedAgainWithinTheValidity(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		c := s.open()
		l := mustLock(t, c, "key")
		s.freeze(0, 1, 2)
		time.Sleep(4 * time.Second) // the first renewal has failed
		s.thaw(0, 1, 2)
		time.Sleep(time.Minute)
		if err := l.Verify(t.Context()); err != nil {
			t.Error(err)
		}
		if err := l.Unlock(t.Context()); err != nil {
			t.Error(err)
		}
		s.wantClean()
	})
}

func TestTheHolderHearsWhenAMajorityHasLostTheKey(t *testing.T) {
	for _, test := range []struct {
		name   string
		strike func(s *sim, i int)
		reason redlock.Reason
	}{
		{"deleted", func(s *sim, i int) { s.masters[i].FlushAll() }, redlock.ReasonExpired},
		{"taken", func(s *sim, i int) { _ = s.masters[i].Set("key", "thief", time.Minute) }, redlock.ReasonTaken},
	} {
		t.Run(test.name, func(t *testing.T) {
			inUnguardedSim(t, 5, func(t *testing.T, s *sim) {
				l := mustLock(t, s.open(), "key")
				for i := range 3 {
					test.strike(s, i)
				}
				began := time.Now()
				<-l.Context().Done()
				if d := time.Since(began); d > 10*time.Second/3 {
					t.Errorf("noticed after %v: want at the next renewal", d)
				}
				wantReason(t, context.Cause(l.Context()), test.reason)
				synctest.Wait()
				if n := s.holders("key", l.Token()); n != 0 {
					t.Errorf("a lost lock was left on %d masters", n)
				}
			})
		})
	}
	t.Run("not a minority", func(t *testing.T) {
		inUnguardedSim(t, 5, func(t *testing.T, s *sim) {
			l := mustLock(t, s.open(), "key")
			s.masters[0].FlushAll()
			_ = s.masters[1].Set("key", "thief", time.Minute)
			time.Sleep(time.Minute)
			if err := l.Context().Err(); err != nil {
				t.Error(context.Cause(l.Context()))
			}
			if v, _ := s.masters[0].Get("key"); v != l.Token() {
				t.Errorf("the master that forgot the key has %q now: want it set again", v)
			}
		})
	})
}

// A master that lost the key gets it again, and counts from the next extension
// on, never towards this one (S6).
func TestAMasterThatLostTheKeyDoesNotCountTowardsTheExtensionThatSetsItAgain(t *testing.T) {
	inUnguardedSim(t, 5, func(t *testing.T, s *sim) {
		c := s.open()
		l := mustLock(t, c, "key", redlock.WithLease(10*time.Second))
		s.kill(3, 4)
		s.masters[0].FlushAll() // two of five still have it, and two are down
		before := l.Remaining()
		err := l.Extend(t.Context())
		wantExactly(t, err, redlock.ErrNoQuorum)
		if l.Remaining() != before {
			t.Errorf("Remaining went from %v to %v", before, l.Remaining())
		}
		if v, _ := s.masters[0].Get("key"); v != l.Token() {
			t.Errorf("the key was not set again: %q", v)
		}
		if err := l.Extend(t.Context()); err != nil {
			t.Errorf("the second extension, with three of five: %v", err)
		}
		if err := l.Unlock(t.Context()); err != nil {
			t.Error(err)
		}
		s.restart(true, 3, 4)
		time.Sleep(3 * time.Second)
		s.wantClean()
	})
}

func TestAnExtensionIsNeverSetOverAnotherHolder(t *testing.T) {
	inSim(t, 3, func(t *testing.T, s *sim) {
		l := mustLock(t, s.open(), "key")
		_ = s.masters[0].Set("key", "other", time.Minute)
		if err := l.Extend(t.Context()); err != nil {
			t.Fatal(err)
		}
		if v, _ := s.masters[0].Get("key"); v != "other" {
			t.Errorf("the other's key is %q now", v)
		}
		if err := l.Unlock(t.Context()); err != nil {
			t.Fatal(err)
		}
		if v, _ := s.masters[0].Get("key"); v != "other" {
			t.Errorf("the other's key is %q after Unlock", v)
		}
	})
}

func TestAnExtensionNeverShortensWhatAMasterKeeps(t *testing.T) {
	inSim(t, 3, func(t *testing.T, s *sim) {
		c := s.open()
		l := mustLock(t, c, "key", redlock.WithLease(30*time.Second))
		token, err := l.HandOver()
		if err != nil {
			t.Fatal(err)
		}
		shorter, err := c.Adopt(t.Context(), "key", token, redlock.WithLease(5*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		for i, m := range s.masters {
			if ttl, _ := m.TTL("key"); ttl != 30*time.Second {
				t.Errorf("master %d keeps the key for %v", i, ttl)
			}
		}
		if err := shorter.Unlock(t.Context()); err != nil {
			t.Error(err)
		}
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
		// The keeper notices within its tick, and renews what is overdue.
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
				other := mustLock(t, c, "other") // has the keeper look at the clock
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

func TestOperationsOnWhatIsNotHeldSayWhy(t *testing.T) {
	for name, test := range map[string]func(t *testing.T, s *sim, c *redlock.Client){
		"after Unlock": func(t *testing.T, s *sim, c *redlock.Client) {
			l := mustLock(t, c, "key")
			ctx := l.Context()
			if err := l.Unlock(t.Context()); err != nil {
				t.Fatal(err)
			}
			wantExactly(t, l.Unlock(t.Context()), redlock.ErrNotHeld, redlock.ErrUnlocked)
			wantExactly(t, l.Extend(t.Context()), redlock.ErrNotHeld, redlock.ErrUnlocked)
			wantExactly(t, l.Verify(t.Context()), redlock.ErrNotHeld, redlock.ErrUnlocked)
			_, err := l.HandOver()
			wantExactly(t, err, redlock.ErrNotHeld, redlock.ErrUnlocked)
			wantExactly(t, ctx.Err(), context.Canceled)
			wantExactly(t, context.Cause(ctx), redlock.ErrUnlocked)
			wantExactly(t, context.Cause(l.Context()), redlock.ErrUnlocked)
			if l.Remaining() != 0 {
				t.Errorf("Remaining is %v", l.Remaining())
			}
		},
		"a context first asked for after Unlock": func(t *testing.T, s *sim, c *redlock.Client) {
			l := mustLock(t, c, "key")
			_ = l.Unlock(t.Context())
			wantExactly(t, context.Cause(l.Context()), redlock.ErrUnlocked)
		},
		"Unlock after the masters lost it": func(t *testing.T, s *sim, c *redlock.Client) {
			l := mustLock(t, c, "key")
			for _, m := range s.masters {
				m.FlushAll()
			}
			err := l.Unlock(t.Context())
			wantExactly(t, err, redlock.ErrNotHeld, redlock.ErrLost)
			wantReason(t, err, redlock.ReasonExpired)
		},
		"Unlock without a quorum": func(t *testing.T, s *sim, c *redlock.Client) {
			l := mustLock(t, c, "key")
			s.kill(0, 1)
			wantExactly(t, l.Unlock(t.Context()), redlock.ErrNoQuorum)
			wantExactly(t, l.Unlock(t.Context()), redlock.ErrNotHeld, redlock.ErrUnlocked)
			s.restart(true, 0, 1)
			time.Sleep(3 * time.Second)
			s.wantClean() // the release was kept for them
		},
		"Extend without a quorum": func(t *testing.T, s *sim, c *redlock.Client) {
			l := mustLock(t, c, "key")
			s.kill(0, 1)
			wantExactly(t, l.Extend(t.Context()), redlock.ErrNoQuorum)
			if l.Remaining() == 0 || l.Context().Err() != nil {
				t.Error("a failed extension ended the hold")
			}
			s.restart(true, 0, 1)
			time.Sleep(3 * time.Second)
			if err := l.Unlock(t.Context()); err != nil {
				t.Error(err)
			}
		},
		"Extend under a context that is over": func(t *testing.T, s *sim, c *redlock.Client) {
			l := mustLock(t, c, "key")
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			wantExactly(t, l.Extend(ctx), context.Canceled)
			if err := l.Unlock(t.Context()); err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			inSim(t, 3, func(t *testing.T, s *sim) { test(t, s, s.open()) })
		})
	}
}

// The context of a lock looks at the lock whenever it is asked.
func TestALockMayBeUsedUnderItsOwnContext(t *testing.T) {
	inSim(t, 3, func(t *testing.T, s *sim) {
		l := mustLock(t, s.open(), "key")
		ctx, cancel := l.WithContext(t.Context())
		defer cancel()
		for _, ctx := range []context.Context{l.Context(), ctx} {
			if err := errors.Join(l.Extend(ctx), l.Verify(ctx)); err != nil {
				t.Error(err)
			}
		}
		if err := l.Unlock(ctx); err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		s.wantClean()
	})
}

func TestUnlockUnderAContextThatIsOverStillSends(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		l := mustLock(t, s.open(), "key")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := l.Unlock(ctx); err != nil {
			wantExactly(t, err, redlock.ErrNoQuorum, context.Canceled) // it did not wait for the answers
		}
		s.wantClean()
	})
}

// After Unlock has begun nothing of the lock is sent any more, whatever was
// under way: an extension that the masters execute late stands before the
// release on the same connection.
func TestNothingRenewsAfterUnlock(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		c := s.open()
		l := mustLock(t, c, "key", redlock.WithTTL(600*time.Millisecond))
		s.freeze(0, 1)
		time.Sleep(250 * time.Millisecond) // a renewal is under way to the frozen two
		if err := l.Unlock(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.thaw(0, 1)
		s.wantClean()
		time.Sleep(time.Minute)
		s.wantClean()
	})
}

func TestAFlushedScriptCacheCostsOneFallback(t *testing.T) {
	inUnguardedSim(t, 5, func(t *testing.T, s *sim) {
		c := s.open()
		flush := func() { s.do("SCRIPT", "FLUSH") }
		l := mustLock(t, c, "key")
		flush()
		for range 3 {
			if err := l.Extend(t.Context()); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		flush()
		if err := l.Unlock(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.wantClean()
		for i, m := range s.masters {
			if evals := m.Commands()["EVAL"]; evals != 2 {
				t.Errorf("master %d was sent %d EVALs: want one for each flush", i, evals)
			}
		}
	})
}

// An extension that was on its way when its lock was unlocked, and finds that the
// master does not know its script, must not be sent again: it would set the key
// behind the release.
func TestAnExtensionIsNotSentAgainAfterUnlock(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		c := s.open()
		l := mustLock(t, c, "key")
		s.do("SCRIPT", "FLUSH")
		s.do("SCRIPT", "LOAD", script.Release.Source)
		s.freeze(0, 1)
		if err := l.Extend(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := l.Unlock(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.thaw(0, 1)
		s.wantClean()
	})
}

func TestAdoptTakesOverWhatAnotherClientHandedOn(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		giver, taker := s.open(), s.open()
		l := mustLock(t, giver, "key")
		ctx := l.Context()
		token, err := l.HandOver()
		if err != nil || token != l.Token() {
			t.Fatal(token, err)
		}
		wantExactly(t, context.Cause(ctx), redlock.ErrUnlocked)
		wantExactly(t, l.Unlock(t.Context()), redlock.ErrNotHeld, redlock.ErrUnlocked)
		_ = giver.Close()

		l2, err := taker.Adopt(t.Context(), "key", token)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if err := l2.Verify(t.Context()); err != nil {
			t.Errorf("the adopted lock was not renewed: %v", err)
		}
		if err := l2.Unlock(t.Context()); err != nil {
			t.Error(err)
		}
		s.wantClean()
	})
}

// An acquisition or extension that is still under way when the lock is handed
// over must not set the key again when the next holder has released it.
func TestHandOverWaitsForWhatIsUnderWay(t *testing.T) {
	for name, underWay := range map[string]func(t *testing.T, s *sim, c *redlock.Client) *redlock.Lock{
		"acquisition": func(t *testing.T, s *sim, c *redlock.Client) *redlock.Lock {
			s.freeze(0, 1)
			return mustLock(t, c, "key")
		},
		"extension": func(t *testing.T, s *sim, c *redlock.Client) *redlock.Lock {
			l := mustLock(t, c, "key")
			synctest.Wait()
			s.freeze(0, 1)
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
				time.AfterFunc(100*time.Millisecond, func() { s.masters[0].Thaw(); s.masters[1].Thaw() })
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
				if err := l.Unlock(t.Context()); err != nil {
					t.Error(err)
				}
				s.wantClean()

				l = underWay(t, s, c)
				within(t, 250*time.Millisecond, func() { _, err = l.HandOver() })
				if err != nil {
					t.Error(err)
				}
				s.thaw(0, 1)
			})
		})
	}
}

func TestAdoptVerifiesAtAQuorum(t *testing.T) {
	inUnguardedSim(t, 5, func(t *testing.T, s *sim) {
		c := s.open()
		l := mustLock(t, c, "key")
		_, err := c.Adopt(t.Context(), "key", "no-such-token")
		wantExactly(t, err, redlock.ErrNotHeld)
		_, err = c.Adopt(t.Context(), "free", "no-such-token")
		wantExactly(t, err, redlock.ErrNotHeld)
		if n := s.holders("free", "no-such-token"); n != 0 {
			t.Errorf("Adopt set a key on %d masters", n)
		}
		s.kill(0, 1, 2)
		_, err = c.Adopt(t.Context(), "key", l.Token())
		wantExactly(t, err, redlock.ErrNoQuorum)
		_, err = c.Adopt(t.Context(), "key", "")
		if err == nil {
			t.Error("an empty token was accepted")
		}
		s.restart(true, 0, 1, 2)
		time.Sleep(3 * time.Second)
		if err := l.Verify(t.Context()); err != nil {
			t.Errorf("the holder suffered: %v", err)
		}
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
		if err := l.Unlock(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestALockMayBeUsedFromManyGoroutines(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		c := s.open()
		for round := range 20 {
			l := mustLock(t, c, fmt.Sprint("key-", round))
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() {
					for range 20 {
						_ = l.Extend(t.Context())
						_ = l.ValidUntil()
						_ = l.Remaining()
						_ = l.Context().Err()
						_ = l.Verify(t.Context())
					}
				})
			}
			wg.Go(func() {
				if err := l.Unlock(t.Context()); err != nil {
					t.Errorf("unlock: %v", err)
				}
			})
			wg.Wait()
			s.wantClean()
		}
	})
}

// Among many that unlock at once exactly one releases.
func TestOnlyOneOfManyUnlocksSucceeds(t *testing.T) {
	inSim(t, 3, func(t *testing.T, s *sim) {
		l := mustLock(t, s.open(), "key")
		var wg sync.WaitGroup
		var mu sync.Mutex
		released := 0
		for range 10 {
			wg.Go(func() {
				err := l.Unlock(t.Context())
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					released++
				} else {
					wantExactly(t, err, redlock.ErrNotHeld, redlock.ErrUnlocked)
				}
			})
		}
		wg.Wait()
		if released != 1 {
			t.Errorf("%d unlocks succeeded", released)
		}
	})
}
