package redlock_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

// again locks under the context of a hold, or ends the test.
func again(t *testing.T, c *redlock.Client, l *redlock.Lock, opts ...redlock.LockOption) *redlock.Lock {
	t.Helper()
	inner, err := c.TryLock(l.Context(), l.Key(), append([]redlock.LockOption{redlock.WithReentrancy()}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	return inner
}

// asked returns how many commands all masters have executed.
func (s *sim) asked() (n int) {
	synctest.Wait()
	for _, m := range s.All {
		for _, count := range m.Commands() {
			n += count
		}
	}
	return n
}

// questions returns how many commands about locks the masters get per second, measured for d. Each
// subscription costs one more PING a second.
func (s *sim) questions(d time.Duration) float64 {
	count := func() (n int) {
		for _, m := range s.All {
			n += m.Commands()["SET"] + m.Commands()["EVALSHA"]
		}
		return n
	}
	before := count()
	time.Sleep(d)
	return float64(count()-before) / d.Seconds()
}

func TestAHeldKeyMayBeLockedAgainOnlyWithReentrancy(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		c := s.open()
		outer := mustLock(t, c, "key", redlock.WithLease(10*time.Second))
		_, err := c.Lock(outer.Context(), "key")
		wantExactly(t, err, redlock.ErrReentrant)

		before := s.asked()
		inner := again(t, c, outer)
		if n := s.asked() - before; n != 0 {
			t.Errorf("%d commands were sent", n)
		}
		if inner == outer || inner.Token() != outer.Token() || inner.Key() != "key" || len(inner.Keys()) != 1 {
			t.Errorf("%+v", inner)
		}
		if inner.Remaining() != outer.Remaining() || !inner.ValidUntil().Equal(outer.ValidUntil()) {
			t.Errorf("the inner has %v, the outer %v", inner.Remaining(), outer.Remaining())
		}
		if got, ok := redlock.FromContext(inner.Context()); !ok || got != inner {
			t.Error("FromContext does not find the inner handle")
		}
		unlock(t, inner)
		if n := s.asked() - before; n != 0 {
			t.Errorf("the inner Unlock sent %d commands", n)
		}
		if err := outer.Verify(t.Context()); err != nil {
			t.Error(err)
		}
		unlock(t, outer)
		s.wantClean()
	})
}

func TestTheLossOfAHoldEndsEveryHandle(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		var lost atomic.Int32
		c := s.open(redlock.WithTrace(&redlock.Trace{Lost: func(*redlock.Lock, *redlock.LostError) { lost.Add(1) }}))
		outer := mustLock(t, c, "key")
		inner := again(t, c, outer)
		late := again(t, c, inner) // its context is first used after the loss
		left := again(t, c, outer)
		unlock(t, left)
		wantExactly(t, context.Cause(left.Context()), redlock.ErrUnlocked) // its context is first used here
		ctx := inner.Context()
		for i := range 3 {
			_ = s.All[i].Set("key", "thief", time.Minute)
		}
		wantExactly(t, inner.Verify(t.Context()), redlock.ErrLost, redlock.ErrNotHeld)
		for _, l := range []*redlock.Lock{outer, inner, late} {
			wantReason(t, context.Cause(l.Context()), redlock.ReasonTaken)
			wantExactly(t, l.Extend(t.Context()), redlock.ErrLost, redlock.ErrNotHeld)
			wantExactly(t, l.Unlock(t.Context()), redlock.ErrLost, redlock.ErrNotHeld)
			wantExactly(t, l.Unlock(t.Context()), redlock.ErrLost, redlock.ErrNotHeld)
		}
		wantExactly(t, left.Unlock(t.Context()), redlock.ErrUnlocked, redlock.ErrNotHeld)
		wantExactly(t, context.Cause(ctx), redlock.ErrLost)
		synctest.Wait()
		if n := lost.Load(); n != 1 {
			t.Errorf("Trace.Lost was called %d times", n)
		}
		if n := s.holders("key", outer.Token()); n != 0 {
			t.Errorf("the lost lock is on %d masters", n)
		}
	})
}

// A lost hold in the context is no reason to refuse: the key may be free.
func TestALostHoldDoesNotForbidAFreshLock(t *testing.T) {
	for name, opts := range map[string][]redlock.LockOption{
		"with reentrancy": {redlock.WithReentrancy()}, "without": nil,
	} {
		t.Run(name, func(t *testing.T) {
			inSim(t, 3, func(t *testing.T, s *sim) {
				c := s.open()
				outer := mustLock(t, c, "key", redlock.WithLease(time.Second))
				carried := context.WithoutCancel(outer.Context())
				time.Sleep(time.Second + lastMoment)
				fresh := s.must(c.TryLock(carried, "key", opts...))
				if fresh.Token() == outer.Token() {
					t.Error("it is a handle on what was lost")
				}
				wantExactly(t, outer.Unlock(t.Context()), redlock.ErrLost, redlock.ErrNotHeld)
				if err := fresh.Verify(t.Context()); err != nil {
					t.Error(err)
				}
				unlock(t, fresh)
				// Under the context itself, which has ended, no attempt is made.
				_, err := c.TryLock(outer.Context(), "key", opts...)
				wantExactly(t, err, context.Canceled)
				wantExactly(t, context.Cause(outer.Context()), redlock.ErrLost)
				s.wantClean()
			})
		})
	}
}

// The masters have forgotten the hold, which shows when an inner call extends it. The inner call
// then acquires by itself.
func TestAHoldFoundLostByAnInnerCallIsAcquiredAnew(t *testing.T) {
	inUnguardedSim(t, 3, func(t *testing.T, s *sim) {
		c := s.open()
		outer := mustLock(t, c, "key")
		carried := context.WithoutCancel(outer.Context())
		for _, m := range s.All {
			m.FlushAll()
		}
		fresh := s.must(c.Lock(carried, "key", redlock.WithReentrancy(), redlock.WithTTL(30*time.Second)))
		wantExactly(t, context.Cause(outer.Context()), redlock.ErrLost)
		if fresh.Token() == outer.Token() || fresh.Remaining() < 29*time.Second || fresh.Context().Err() != nil {
			t.Errorf("token %q, %v left, %v", fresh.Token(), fresh.Remaining(), context.Cause(fresh.Context()))
		}
		time.Sleep(time.Minute)
		unlock(t, fresh)
		wantExactly(t, outer.Unlock(t.Context()), redlock.ErrLost, redlock.ErrNotHeld)
		s.wantClean()
	})
}

// An unlocked handle lets nobody in, even if other handles are still held.
func TestAnUnlockedHandleLetsNobodyIn(t *testing.T) {
	inSim(t, 3, func(t *testing.T, s *sim) {
		c := s.open()
		outer := mustLock(t, c, "key")
		carried := context.WithoutCancel(outer.Context())
		inner := again(t, c, outer)
		unlock(t, outer)
		_, err := c.TryLock(carried, "key", redlock.WithReentrancy())
		wantExactly(t, err, redlock.ErrTaken)
		// The inner handle lets calls in, also for what was nested in between.
		third := again(t, c, inner)
		unlock(t, inner)
		unlock(t, third)
		s.wantClean()
	})
}

func TestALongerTTLRaisesThatOfTheHold(t *testing.T) {
	inUnguardedSim(t, 5, func(t *testing.T, s *sim) {
		var renewals atomic.Int32
		c := s.open(redlock.WithTrace(&redlock.Trace{Renewal: func(redlock.ExtendInfo) { renewals.Add(1) }}))
		outer := mustLock(t, c, "key", redlock.WithTTL(3*time.Second))
		time.Sleep(500 * time.Millisecond)
		before := s.asked()
		shorter := again(t, c, outer, redlock.WithTTL(2*time.Second))
		if n := s.asked() - before; n != 0 {
			t.Errorf("a shorter TTL asked the masters %d times", n)
		}
		inner := again(t, c, outer, redlock.WithTTL(30*time.Second))
		if n := s.asked() - before; n != 5 {
			t.Errorf("a longer TTL asked the masters %d times", n)
		}
		want := 30*time.Second - 302*time.Millisecond
		for _, l := range []*redlock.Lock{outer, shorter, inner} {
			if got := l.Remaining(); got != want {
				t.Errorf("%v remain: want %v", got, want)
			}
		}
		if err := errors.Join(inner.Unlock(t.Context()), shorter.Unlock(t.Context())); err != nil {
			t.Error(err)
		}
		time.Sleep(10 * time.Second)
		seen := renewals.Load()
		time.Sleep(time.Minute) // renewed every 10 s by now
		if n := renewals.Load() - seen; n < 5 || n > 7 {
			t.Errorf("%d renewals in a minute", n)
		}
		if ttl, _ := s.All[0].TTL("key"); ttl < 19*time.Second {
			t.Errorf("a master keeps the key for %v", ttl)
		}
		unlock(t, outer)
		s.wantClean()
	})
}

// A renewal is sent with the shorter TTL, and the TTL is raised before the answers come. They must
// not count for the longer TTL (S2).
func TestAnExtensionCountsWithTheTTLItAskedFor(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		c := s.open()
		outer := mustLock(t, c, "key", redlock.WithTTL(5*time.Second), redlock.WithRenewal(redlock.Renewal{MaxCount: 1}))
		s.Freeze(0, 1, 2)
		time.Sleep(time.Second)
		began := time.Now()
		slow := make(chan error)
		go func() { slow <- outer.Extend(t.Context()) }()
		synctest.Wait() // sent with 5 s, not answered
		ctx, cancel := context.WithTimeout(outer.Context(), 10*time.Millisecond)
		defer cancel()
		_, err := c.TryLock(ctx, "key", redlock.WithReentrancy(), redlock.WithTTL(30*time.Second))
		wantExactly(t, err, redlock.ErrNoQuorum, context.DeadlineExceeded)
		s.Thaw(0, 1, 2)
		if err := <-slow; err != nil {
			t.Fatal(err)
		}
		if until := outer.ValidUntil().Sub(began); until > 5*time.Second {
			t.Errorf("valid for %v by an extension of 5 s", until)
		}
		if outer.Remaining() == 0 || outer.Context().Err() != nil {
			t.Error("the failure of the inner call ended the hold")
		}
		unlock(t, outer)
		s.wantClean()
	})
}

func TestHandOverIsRefusedWhileOthersShareTheHold(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		c := s.open()
		outer := mustLock(t, c, "key")
		inner := again(t, c, outer)
		for _, l := range []*redlock.Lock{outer, inner} {
			_, err := l.HandOver()
			wantExactly(t, err, redlock.ErrReentrant)
		}
		unlock(t, outer)
		ctx := inner.Context()
		token, err := inner.HandOver()
		if err != nil || token != inner.Token() {
			t.Fatal(token, err)
		}
		wantExactly(t, context.Cause(ctx), redlock.ErrUnlocked)
		wantExactly(t, inner.Unlock(t.Context()), redlock.ErrNotHeld, redlock.ErrUnlocked)
		l := s.must(c.Adopt(t.Context(), "key", token))
		unlock(t, l)
		s.wantClean()
	})
}

func TestDoNestsAndTellsTheLossInside(t *testing.T) {
	inUnguardedSim(t, 3, func(t *testing.T, s *sim) {
		c := s.open(redlock.WithReentrancy())
		ran := false
		err := c.Do(t.Context(), "key", func(ctx context.Context) error {
			outer, _ := redlock.FromContext(ctx)
			inside := c.Do(ctx, "key", func(ctx context.Context) error {
				inner, _ := redlock.FromContext(ctx)
				if inner == outer || inner.Token() != outer.Token() {
					t.Error("the inner handle is not a further one")
				}
				return inner.Verify(ctx)
			})
			if inside != nil || ctx.Err() != nil {
				t.Error(inside, ctx.Err())
			}
			inside = c.Do(ctx, "key", func(ctx context.Context) error {
				for _, m := range s.All {
					m.FlushAll()
				}
				<-ctx.Done()
				ran = true
				return nil
			})
			wantExactly(t, inside, redlock.ErrLost)
			return nil
		})
		wantExactly(t, err, redlock.ErrLost)
		if !ran {
			t.Error("the inner context did not end")
		}
		s.wantClean()
	})
}

// Many goroutines take and unlock handles; the key exists exactly as long as any handle is held.
func TestAHoldMayBeSharedByManyGoroutines(t *testing.T) {
	t.Parallel()
	inSim(t, 3, func(t *testing.T, s *sim) {
		c := s.open()
		for range 20 {
			outer := mustLock(t, c, "key", redlock.WithTTL(time.Second))
			carried := context.WithoutCancel(outer.Context())
			var wg sync.WaitGroup
			for i := range 8 {
				wg.Go(func() {
					for n := range 10 {
						ttl := time.Duration(1+i) * time.Second
						l, err := c.TryLock(carried, "key", redlock.WithReentrancy(), redlock.WithTTL(ttl))
						if err != nil {
							return // the outer handle is unlocked, and another call has the key
						}
						_ = l.Extend(t.Context())
						_, _ = l.Remaining(), l.Context().Err()
						if err := l.Verify(t.Context()); err != nil {
							t.Errorf("goroutine %d, round %d: %v", i, n, err)
						}
						if err := l.Unlock(t.Context()); err != nil {
							t.Errorf("goroutine %d, round %d: %v", i, n, err)
						}
						wantExactly(t, l.Unlock(t.Context()), redlock.ErrNotHeld, redlock.ErrUnlocked)
					}
				})
			}
			wg.Go(func() {
				if err := outer.Unlock(t.Context()); err != nil {
					t.Errorf("outer: %v", err)
				}
			})
			wg.Wait()
			s.wantClean()
		}
	})
}

// A call that locks again with the outer context waits for its own client. The error says which
// context would work.
func TestErrorOfACallThatWaitsForItsOwnClientNamesTheLocksContext(t *testing.T) {
	inSim(t, 3, func(t *testing.T, s *sim) {
		c := s.open()
		mustLock(t, c, "key")
		const advice = "call it with lock.Context()"
		for name, call := range map[string]func(opts ...redlock.LockOption) error{
			"TryLock": func(opts ...redlock.LockOption) error { _, err := c.TryLock(t.Context(), "key", opts...); return err },
			"Lock": func(opts ...redlock.LockOption) error {
				_, err := c.Lock(t.Context(), "key", append(opts, redlock.WithWait(time.Second))...)
				return err
			},
		} {
			if err := call(redlock.WithReentrancy()); !errors.Is(err, redlock.ErrTaken) || !strings.Contains(err.Error(), advice) {
				t.Errorf("%s: %v does not say %q", name, err, advice)
			}
			if err := call(); !errors.Is(err, redlock.ErrTaken) || strings.Contains(err.Error(), advice) {
				t.Errorf("%s without the option: %v", name, err)
			}
		}
		if _, err := s.open().TryLock(t.Context(), "key", redlock.WithReentrancy()); err == nil || strings.Contains(err.Error(), advice) {
			t.Errorf("another client: %v", err)
		}
	})
}
