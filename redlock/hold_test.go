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

func TestALeaseEndsByItselfBeforeTheMastersExpireIt(t *testing.T) {
	onEach(t, 5, func(t *testing.T, f *fleet) {
		var renewals, ofOther atomic.Int32
		c := f.open(redlock.WithTrace(&redlock.Trace{Renewal: func(i redlock.RenewalInfo) {
			if i.Key == "key" {
				renewals.Add(1)
			} else {
				ofOther.Add(1)
			}
		}}))
		const lease = 2 * time.Second
		other := f.lock(c, "other", redlock.WithRenewal(redlock.Renewal{Every: 40 * time.Millisecond}))
		l := f.lock(c, "key", redlock.WithLease(lease))
		until := l.ValidUntil()
		<-l.Context().Done()
		if f.exactly && !time.Now().Equal(until) || time.Now().Before(until.Add(-5*time.Millisecond)) {
			t.Errorf("the context ended %v after its validity", time.Since(until))
		}
		if got := f.holders("key", l.Token()); f.exactly && got != 5 {
			t.Errorf("when the context ended %d masters had the key: want all", got)
		}
		wantLost(t, l, redlock.ReasonExpired)
		if n := renewals.Load(); n != 0 {
			t.Errorf("the lease was renewed %d times", n)
		}
		if ofOther.Load() == 0 {
			t.Error("a lock beside the lease was not renewed")
		}
		f.unlock(other)
		time.Sleep(lease/100 + 2*time.Millisecond + lastMoment) // the allowance for drift
		f.wantFree("key")
		// The key is free, and stays so: the lock is lost for good (S6).
		wantExactly(t, l.Extend(t.Context()), redlock.ErrLost, redlock.ErrNotHeld)
		wantExactly(t, l.Verify(t.Context()), redlock.ErrLost, redlock.ErrNotHeld)
		f.wantFree("key")
		wantExactly(t, l.Unlock(t.Context()), redlock.ErrLost, redlock.ErrNotHeld)
		f.unlock(f.lock(c, "key"))
	})
}

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
			onSimulated(t, 3, nil, func(t *testing.T, f *fleet) {
				var renewals atomic.Int32
				c := f.open(redlock.WithTrace(&redlock.Trace{Renewal: func(i redlock.RenewalInfo) {
					if i.Err != nil {
						t.Errorf("renewal %d: %v", i.Count, i.Err)
					}
					renewals.Add(1)
				}}))
				l := f.lock(c, "key", redlock.WithTTL(ttl), redlock.WithRenewal(test.renewal))
				began := time.Now()
				<-l.Context().Done()
				if d := time.Since(began); d < test.least || d > test.most {
					t.Errorf("held for %v: want %v to %v", d, test.least, test.most)
				}
				if n := renewals.Load(); test.count != 0 && n != int32(test.count) {
					t.Errorf("%d renewals: want %d", n, test.count)
				}
				wantLost(t, l, redlock.ReasonExpired)
				f.eventually("the key is gone", func() bool { return len(f.keys()) == 0 })
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
		s.Freeze(0, 1, 2)
		<-l.Context().Done()
		if got, want := time.Since(began), 592*time.Millisecond; got != want { // 600 - 6 - 2
			t.Errorf("the context ended after %v: want %v", got, want)
		}
		wantExactly(t, context.Cause(l.Context()), redlock.ErrLost)
		wantReason(t, context.Cause(l.Context()), redlock.ReasonUnreachable)
		// The frozen masters grant the extensions now: too late.
		s.Thaw(0, 1, 2)
		time.Sleep(time.Second)
		wantExactly(t, l.Extend(t.Context()), redlock.ErrLost, redlock.ErrNotHeld)
		s.wantClean()
	})
}

// A renewal that is not answered has a deadline of its own.
func TestARenewalThatFailsIsTriedAgainWithinTheValidity(t *testing.T) {
	onEachUnguarded(t, 5, func(t *testing.T, f *fleet) {
		var good, failed atomic.Int32
		c := f.openBrisk(redlock.WithTrace(&redlock.Trace{Renewal: func(i redlock.RenewalInfo) {
			if i.Err == nil {
				good.Add(1)
			} else {
				failed.Add(1)
			}
		}}))
		l := f.lock(c, "key", redlock.WithTTL(4*time.Second)) // renewed after 1.3 s
		f.freeze(0, 1, 2)
		f.eventually("a renewal fails", func() bool { return failed.Load() > 0 })
		if l.Context().Err() != nil {
			t.Fatalf("a renewal failed only when the lock was lost: %v", context.Cause(l.Context()))
		}
		f.thaw(0, 1, 2)
		f.eventually("a later renewal succeeds", func() bool { return good.Load() > 0 })
		if f.exactly {
			time.Sleep(time.Minute)
		}
		if err := l.Verify(t.Context()); err != nil {
			t.Error(err)
		}
		f.unlock(l)
		f.wantFree("key")
	})
}

// What happens to the keys behind the holder's back, and what renewal makes of it.
func TestTheHolderHearsWhenAMajorityHasLostTheKey(t *testing.T) {
	// Between two renewals there is time to change several masters.
	opts := []redlock.LockOption{redlock.WithTTL(20 * time.Second), redlock.WithRenewal(redlock.Renewal{Every: 400 * time.Millisecond})}
	flush := func(which ...int) func(f *fleet) { return func(f *fleet) { f.do(which, "FLUSHALL") } }
	for _, test := range []struct {
		name   string
		strike func(f *fleet)
		reason redlock.Reason
		taken  []int // masters that must keep the stranger's key
	}{
		{"flushed from all", flush(0, 1, 2, 3, 4), redlock.ReasonExpired, nil},
		{"flushed from three", flush(0, 1, 2), redlock.ReasonExpired, nil},
		{"taken on three", func(f *fleet) { f.foreign("key", 2, 3, 4) }, redlock.ReasonTaken, []int{2, 3, 4}},
		{"deleted on two, taken on two", func(f *fleet) {
			f.do([]int{0, 1}, "DEL", "key")
			f.foreign("key", 2, 3)
		}, redlock.ReasonTaken, []int{2, 3}},
	} {
		t.Run(test.name, func(t *testing.T) {
			onEachUnguarded(t, 5, func(t *testing.T, f *fleet) {
				var told atomic.Int32
				renewed := make(chan struct{}, 100)
				c := f.open(redlock.WithTrace(&redlock.Trace{
					Lost:    func(*redlock.Lock, *redlock.LostError) { told.Add(1) },
					Renewal: func(redlock.RenewalInfo) { renewed <- struct{}{} },
				}))
				l := f.lock(c, "key", opts...)
				<-renewed // the next is a while away
				f.settle()
				test.strike(f)
				f.within(400*time.Millisecond, func() { <-l.Context().Done() })
				wantLost(t, l, test.reason)
				// What the last renewal set again is released without an Unlock.
				f.atOnce("nothing of ours is left", func() bool { return f.holders("key", l.Token()) == 0 })
				wantExactly(t, l.Extend(t.Context()), redlock.ErrLost, redlock.ErrNotHeld)
				wantExactly(t, l.Verify(t.Context()), redlock.ErrLost, redlock.ErrNotHeld)
				wantExactly(t, l.Unlock(t.Context()), redlock.ErrLost, redlock.ErrNotHeld)
				if n := f.holders("key", l.Token()); n != 0 {
					t.Errorf("%d masters have the token of the lock that is lost", n)
				}
				f.atOnce("Trace.Lost is called", func() bool { return told.Load() > 0 })
				if n := told.Load(); n != 1 {
					t.Errorf("Trace.Lost was called %d times", n)
				}
				for _, i := range test.taken {
					if v := f.value(i, "key"); v != stranger {
						t.Errorf("master %d: the stranger's key is %q now", i, v)
					}
				}
				f.remove("key")
			})
		})
	}
	// What was flushed is set again, what was taken stays the stranger's.
	t.Run("not a minority", func(t *testing.T) {
		onEachUnguarded(t, 5, func(t *testing.T, f *fleet) {
			var renewals atomic.Int32
			c := f.open(redlock.WithTrace(&redlock.Trace{Renewal: func(redlock.RenewalInfo) { renewals.Add(1) }}))
			l := f.lock(c, "key", opts...)
			f.do([]int{0}, "FLUSHALL")
			f.foreign("key", 4)
			before := renewals.Load()
			f.eventually("it is renewed", func() bool { return renewals.Load() >= before+3 })
			if err := l.Context().Err(); err != nil {
				t.Error(context.Cause(l.Context()))
			}
			if v := f.value(0, "key"); v != l.Token() {
				t.Errorf("the master that forgot the key has %q now: want it set again", v)
			}
			f.unlock(l)
			f.atOnce("ours is released", func() bool { return f.holders("key", "") == 4 })
			if v := f.value(4, "key"); v != stranger {
				t.Errorf("the stranger's key is %q after the release", v)
			}
			f.remove("key")
		})
	})
}

// A master that lost the key gets it again, and counts from the next extension
// on, never towards this one (S6).
func TestAMasterThatLostTheKeyDoesNotCountTowardsTheExtensionThatSetsItAgain(t *testing.T) {
	onEachUnguarded(t, 5, func(t *testing.T, f *fleet) {
		c := f.open()
		l := f.lock(c, "key", redlock.WithLease(time.Minute))
		f.kill(0, 1, 2)
		f.awaitDown(c, 0, 1, 2)
		f.restart(false, 0) // two of five still have it, and two are down
		f.awaitUp(c, 0)
		if v := f.value(0, "key"); v != "" {
			t.Fatalf("the master that restarted has %q", v)
		}
		until := l.ValidUntil()
		err := l.Extend(t.Context())
		wantExactly(t, err, redlock.ErrNoQuorum)
		q, ok := errors.AsType[*redlock.QuorumError](err)
		if !ok || q.Op != "extend" || q.OK > 2 || q.Need != 3 || q.Total != 5 {
			t.Fatalf("%+v: want extend, at most 2 of 5, 3 needed", q)
		}
		master := c.Masters(t.Context())[0].Master
		if !slices.ContainsFunc(q.Nodes.Errors, func(err error) bool {
			n, ok := errors.AsType[*redlock.NodeError](err)
			return ok && n.Master == master && n.Err != nil
		}) {
			t.Errorf("the empty master is not named: %v", err)
		}
		if l.ValidUntil() != until || l.Context().Err() != nil {
			t.Errorf("an extension that failed moved ValidUntil by %v (%v)", l.ValidUntil().Sub(until), context.Cause(l.Context()))
		}
		f.atOnce("the key is set again", func() bool { return f.value(0, "key") == l.Token() })
		time.Sleep(time.Millisecond) // or in virtual time it would be valid no longer
		if err := l.Extend(t.Context()); err != nil {
			t.Errorf("the second extension, with three of five: %v", err)
		}
		if !l.ValidUntil().After(until) {
			t.Error("an extension that succeeded did not move ValidUntil")
		}
		f.unlock(l)
		f.restart(true, 1, 2)
		f.eventually("they are told of the release", func() bool { return len(f.keys()) == 0 })
	})
}

// A master may keep the key for longer than this extension asks for: it is not
// shortened, or a late extension would do harm.
func TestAnExtensionNeverShortensWhatAMasterKeeps(t *testing.T) {
	onEach(t, 5, func(t *testing.T, f *fleet) {
		c := f.open()
		l := f.lock(c, "key", redlock.WithLease(5*time.Second))
		f.do(f.all(), "PEXPIRE", "key", 60_000)
		if err := l.Extend(t.Context()); err != nil {
			t.Fatal(err)
		}
		f.settle()
		for i := range f.urls {
			if ttl := f.ttl(i, "key"); f.exactly && ttl != time.Minute || ttl < 30*time.Second {
				t.Errorf("master %d keeps the key for %v", i, ttl)
			}
		}
		f.unlock(l)
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

// Unlock always sends: under a context that is over, and while masters hang.
func TestUnlockUnderAContextThatIsOverStillSends(t *testing.T) {
	onEachUnguarded(t, 5, func(t *testing.T, f *fleet) {
		c := f.patient()
		over, cancel := context.WithCancel(t.Context())
		cancel()
		l := f.lock(c, "key", redlock.WithTTL(time.Minute))
		if err := l.Unlock(over); err != nil {
			wantExactly(t, err, redlock.ErrNoQuorum, context.Canceled) // it did not wait for the answers
		}
		f.wantFree("key")
		wantExactly(t, context.Cause(l.Context()), redlock.ErrUnlocked)

		l = f.lock(c, "key", redlock.WithTTL(time.Minute))
		f.freeze(0, 1, 2)
		var err error
		f.within(0, func() { err = l.Unlock(over) })
		wantExactly(t, err, redlock.ErrNoQuorum, context.Canceled)
		wantExactly(t, l.Unlock(t.Context()), redlock.ErrNotHeld, redlock.ErrUnlocked)
		f.wantFree("key")
		f.thaw(0, 1, 2)
		f.wantFree("key")
	})
}

func TestAdoptTakesOverWhatAnotherClientHandedOn(t *testing.T) {
	t.Parallel()
	onSimulated(t, 5, nil, func(t *testing.T, f *fleet) {
		giver, taker, third := f.open(), f.open(), f.open()
		l := f.lock(giver, "key", redlock.WithTTL(2*time.Second), redlock.WithRenewal(redlock.Renewal{Every: 20 * time.Millisecond}))
		ctx := l.Context()
		token, err := l.HandOver()
		if err != nil || token != l.Token() {
			t.Fatal(token, err)
		}
		wantExactly(t, context.Cause(ctx), redlock.ErrUnlocked)
		wantExactly(t, l.Unlock(t.Context()), redlock.ErrNotHeld, redlock.ErrUnlocked)
		wantExactly(t, l.Extend(t.Context()), redlock.ErrNotHeld, redlock.ErrUnlocked)
		if n := f.holders("key", token); n < 3 {
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
		f.unlock(l2)
		f.wantFree("key")
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
	writer := func(ctx context.Context, c *redlock.Client) (*redlock.Lock, error) { return c.Lock(ctx, "key") }
	asWriter := func(ctx context.Context, c *redlock.Client, token string) (*redlock.Lock, error) {
		return c.Adopt(ctx, "key", token)
	}
	for name, test := range map[string]struct {
		options []redlock.Option
		lock    func(ctx context.Context, c *redlock.Client) (*redlock.Lock, error)
		adopt   func(ctx context.Context, c *redlock.Client, token string) (*redlock.Lock, error)
	}{
		"plain":  {nil, writer, asWriter},
		"strict": {[]redlock.Option{redlock.WithStrict()}, writer, asWriter},
		"reader": {
			nil, func(ctx context.Context, c *redlock.Client) (*redlock.Lock, error) {
				return c.RWMutex("key").RLock(ctx)
			},
			func(ctx context.Context, c *redlock.Client, token string) (*redlock.Lock, error) {
				return c.RWMutex("key").RAdopt(ctx, token)
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			inSim(t, 5, func(t *testing.T, s *sim) {
				c, taker := s.open(test.options...), s.open(test.options...)
				token, err := s.must(test.lock(t.Context(), c)).HandOver()
				if err != nil {
					t.Fatal(err)
				}
				s.Ask(0, "SCRIPT", "FLUSH")
				s.Ask(1, "SCRIPT", "FLUSH")
				s.Freeze(0, 1)
				l, err := test.adopt(t.Context(), taker, token)
				if err != nil {
					t.Fatal(err)
				}
				unlock(t, l)
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
	onEachUnguarded(t, 5, func(t *testing.T, f *fleet) {
		c, other := f.open(), f.open()
		adopt := func(key, token string) error {
			_, err := c.Adopt(t.Context(), key, token, redlock.WithTTL(time.Minute))
			return err
		}
		wantExactly(t, adopt("free", "no-such-token"), redlock.ErrNotHeld)
		f.wantFree("free")
		l := f.lock(other, "key", redlock.WithLease(time.Minute))
		f.do(f.all(), "PEXPIRE", "key", 30_000)
		wantExactly(t, adopt("key", l.Token()+"x"), redlock.ErrNotHeld)
		if adopt("key", "") == nil {
			t.Error("an empty token was accepted")
		}
		f.settle()
		for i := range f.urls {
			if v, left := f.value(i, "key"), f.ttl(i, "key"); v != l.Token() || left > 30*time.Second {
				t.Errorf("master %d: %q with %v left, want it untouched", i, v, left)
			}
		}
		f.kill(0, 1, 2)
		f.awaitDown(c, 0, 1, 2)
		wantExactly(t, adopt("key", l.Token()), redlock.ErrNoQuorum)
		f.restart(true, 0, 1, 2)
		f.awaitUp(c, 0, 1, 2)
		f.awaitUp(other, 0, 1, 2)
		if err := l.Verify(t.Context()); err != nil {
			t.Errorf("the holder suffered: %v", err)
		}
		f.unlock(l)
		f.wantFree("key")

		f.do([]int{0, 1}, "SET", "key", "token", "PX", 60_000)
		wantExactly(t, adopt("key", "token"), redlock.ErrNotHeld)
		// The attempt has used the token up where it came in before it was decided.
		f.atOnce("only the token is left", func() bool { return f.holders("key", "")+f.holders("key", "token") == 5 })
		f.remove("key")
		f.do([]int{0, 1, 2}, "SET", "key", "token", "PX", 60_000)
		f.foreign("key", 3)
		l, err := c.Adopt(t.Context(), "key", "token")
		if err != nil {
			t.Fatalf("Adopt of three of five: %v", err)
		}
		f.unlock(l)
		f.atOnce("ours is released", func() bool { return f.holders("key", "") == 4 })
		if v := f.value(3, "key"); v != stranger {
			t.Errorf("the stranger's key is %q", v)
		}
		f.remove("key")
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
	onEach(t, 5, func(t *testing.T, f *fleet) {
		c := f.open()
		ended := func(what string, err error) bool {
			if err != nil && !errors.Is(err, redlock.ErrUnlocked) {
				t.Errorf("%s: %v", what, err)
			} else if err != nil {
				wantExactly(t, err, redlock.ErrNotHeld, redlock.ErrUnlocked)
			}
			return err != nil
		}
		for n := range 40 {
			l := f.lock(c, fmt.Sprint("key-", n), redlock.WithTTL(time.Minute), redlock.WithRenewal(redlock.Renewal{Every: 5 * time.Millisecond}))
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
			f.wantFree(l.Key())
		}
	})
}
