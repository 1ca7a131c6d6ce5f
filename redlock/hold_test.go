package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

const allowance = 102 * time.Millisecond // clock drift of a TTL of 10 s

// lastMoment is the millisecond in which a key's TTL ends: Redis keeps the key until then.
const lastMoment = time.Millisecond

func wantReason(t *testing.T, err error, want redlock.Reason) {
	t.Helper()
	lost, ok := errors.AsType[*redlock.LostError](err)
	if !ok || lost.Reason != want {
		t.Errorf("%v: want a loss with reason %v", err, want)
	}
}

// A master may keep the key for longer than this extension asks for. The extension does not shorten
// that, or a late extension would do harm.
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

// Only the wall clock shows that a virtual machine was paused. It may have been set back before
// that: while the lock was held, or before it was acquired.
func TestAStepBackOfTheWallClockHidesNoLaterStepForward(t *testing.T) {
	for _, before := range []bool{true, false} {
		t.Run(fmt.Sprintf("acquired before it: %v", before), func(t *testing.T) {
			inSim(t, 3, func(t *testing.T, s *sim) {
				clock := new(skewedClock)
				c := s.open(redlock.WithClock(clock))
				other := mustLock(t, c, "other") // makes the renewer look at the clock
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
				case <-ctx.Done(): // it ends without a call
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

// handedOver hands a lock over and returns its token.
func handedOver(t *testing.T, l *redlock.Lock) string {
	t.Helper()
	token, err := l.HandOver()
	if err != nil {
		t.Fatal(err)
	}
	return token
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
		// Closing the giver does not affect the adopter.
		_ = giver.Close()
		// It stays held for longer than the giver's TTL, too.
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

// An acquisition or extension may still be under way when the lock is handed over. It must not set
// the key again after the next holder has released it. HandOver waits longer for a renewal than for
// other commands.
func TestHandOverWaitsForWhatIsUnderWay(t *testing.T) {
	for name, test := range map[string]struct {
		underWay func(t *testing.T, s *sim, c *redlock.Client) *redlock.Lock
		late     time.Duration // how late the answers are
	}{
		"acquisition": {func(t *testing.T, s *sim, c *redlock.Client) *redlock.Lock {
			s.Freeze(0, 1)
			return mustLock(t, c, "key")
		}, 100 * time.Millisecond},
		"extension": {func(t *testing.T, s *sim, c *redlock.Client) *redlock.Lock {
			l := mustLock(t, c, "key")
			s.Freeze(0, 1)
			if err := l.Extend(t.Context()); err != nil {
				t.Fatal(err)
			}
			return l
		}, 100 * time.Millisecond},
		"renewal": {func(t *testing.T, s *sim, c *redlock.Client) *redlock.Lock {
			l := mustLock(t, c, "key")
			s.Freeze(0, 1, 2)
			time.Sleep(3300 * time.Millisecond)
			return l
		}, 600 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			inSim(t, 5, func(t *testing.T, s *sim) {
				c, taker := s.open(), s.open()
				l := test.underWay(t, s, c)
				time.AfterFunc(test.late, func() {
					for _, m := range s.All {
						m.Thaw()
					}
				})
				began := time.Now()
				token := handedOver(t, l)
				if d := time.Since(began); d != test.late {
					t.Errorf("handed over after %v: want when the masters had answered", d)
				}
				unlock(t, s.must(taker.Adopt(t.Context(), "key", token)))
				settle()
				s.wantClean()

				l = test.underWay(t, s, c)
				within(t, 1250*time.Millisecond, func() { handedOver(t, l) }) // until the connections are given up
				s.Thaw(0, 1, 2)
			})
		})
	}
}

// A master may have missed the script of an adoption, which is not sent again behind the release.
// The old token there is released with the hold that replaced it on the other masters.
func TestReleaseOfAnAdoptedLockRemovesTheOldTokenEverywhere(t *testing.T) {
	for name, options := range map[string][]redlock.Option{"plain": nil, "strict": {redlock.WithStrict()}} {
		t.Run(name, func(t *testing.T) {
			inSim(t, 5, func(t *testing.T, s *sim) {
				c, taker := s.open(options...), s.open(options...)
				token := handedOver(t, mustLock(t, c, "key"))
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

func TestCloseAndHandOverOfAnAdoptedLockRemoveTheOldToken(t *testing.T) {
	for name, ends := range map[string]func(t *testing.T, s *sim, l *redlock.Lock, c *redlock.Client){
		"closed": func(_ *testing.T, _ *sim, _ *redlock.Lock, c *redlock.Client) { _ = c.Close() },
		"handed on": func(t *testing.T, s *sim, l *redlock.Lock, c *redlock.Client) {
			token := handedOver(t, l)
			unlock(t, s.must(c.Adopt(t.Context(), "key", token)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			inSim(t, 5, func(t *testing.T, s *sim) {
				taker := s.open()
				token := handedOver(t, mustLock(t, s.open(), "key"))
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

// A minority that has the token is no hold, and a majority is one. A wrong token changes nothing.
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
		if err := l.Verify(t.Context()); err != nil {
			t.Errorf("the holder suffered: %v", err)
		}
		unlock(t, l)
		s.wantFree("key")

		s.doOn([]int{0, 1}, "SET", "key", "token", "PX", 60_000)
		wantExactly(t, adopt("key", "token"), redlock.ErrNotHeld)
		// Where the attempt came before it was decided, it has used up the token.
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

// Many goroutines use one handle while it is unlocked. Exactly one Unlock succeeds, and no
// extension sets the key again after it.
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
					for extended.Load() < int32(n%5) && l.Context().Err() == nil { // at different moments
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
