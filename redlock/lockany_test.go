package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

func slots(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("slot-%02d", i)
	}
	return keys
}

func TestEverySlotIsGivenOnceAndThenItIsTaken(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		c, d := s.open(), s.open()
		keys := slots(4)
		got := map[string]*redlock.Lock{}
		for range keys {
			l := s.must(c.LockAny(t.Context(), append(keys, keys[0]))) // a duplicate counts once
			if got[l.Key()] != nil {
				t.Errorf("%s was given twice", l.Key())
			}
			got[l.Key()] = l
		}
		_, err := d.TryLockAny(t.Context(), keys)
		wantExactly(t, err, redlock.ErrTaken)
		h, ok := errors.AsType[*redlock.Holder](err)
		if !ok || got[h.Key] == nil || got[h.Key].Token() != h.Token || !strings.Contains(err.Error(), `"slot-00" and 3 more`) {
			t.Errorf("%v does not say who holds one of the keys: %+v", err, h)
		}
		unlock(t, got[keys[2]])
		if l := s.must(d.LockAny(t.Context(), keys)); l.Key() != keys[2] {
			t.Errorf("got %s, only %s is free", l.Key(), keys[2])
		}
	})
}

// A call would wait for itself only if its context holds all slots.
func TestSlotsUnderHoldsOnAllOfThemAreRefused(t *testing.T) {
	inSim(t, 3, func(t *testing.T, s *sim) {
		c := s.open()
		keys := slots(2)
		first := s.must(c.LockAny(t.Context(), keys))
		second := s.must(c.TryLockAny(first.Context(), keys))
		both, cancel := second.WithContext(first.Context())
		defer cancel()
		_, err := c.TryLockAny(both, keys)
		wantExactly(t, err, redlock.ErrReentrant)
		_, err = c.TryLockAny(second.Context(), keys) // others may release a slot
		wantExactly(t, err, redlock.ErrTaken)
		_, err = c.TryLock(first.Context(), first.Key())
		wantExactly(t, err, redlock.ErrReentrant)
	})
}

// One key of several, or one permit, is a plain lock, which a call may share.
func TestOneSlotIsSharedAsAPlainLockIs(t *testing.T) {
	inSim(t, 3, func(t *testing.T, s *sim) {
		c := s.open()
		for name, acquire := range map[string]func(ctx context.Context, opts ...redlock.LockOption) (*redlock.Lock, error){
			"LockAny": func(ctx context.Context, opts ...redlock.LockOption) (*redlock.Lock, error) {
				return c.LockAny(ctx, []string{"key", "key"}, opts...)
			},
			"Acquire": c.Semaphore("one", 1).Acquire, "TryAcquire": c.Semaphore("one", 1).TryAcquire,
		} {
			first := s.must(acquire(t.Context()))
			_, err := acquire(first.Context())
			wantExactly(t, err, redlock.ErrReentrant)
			second := s.must(acquire(first.Context(), redlock.WithReentrancy()))
			if second.Token() != first.Token() {
				t.Errorf("%s: another hold", name)
			}
			unlock(t, first)
			s.wantOn(second, 3)
			unlock(t, second)
		}
		s.wantClean()
	})
}

// The trace gets attempts with the slot that was acquired, or with the first slot if none was. The
// call ends with the key that it began with.
func TestTheTraceNamesTheSlot(t *testing.T) {
	inSim(t, 3, func(t *testing.T, s *sim) {
		var attempts, waits []string
		c := s.open(redlock.WithTrace(&redlock.Trace{
			Attempt: func(i redlock.AttemptInfo) { attempts = append(attempts, i.Key) },
			Wait:    func(i redlock.WaitInfo) { waits = append(waits, i.Key) },
		}))
		keys := slots(2)
		one := s.must(c.LockAny(t.Context(), keys))
		two := s.must(c.LockAny(t.Context(), keys))
		_, err := c.TryLockAny(t.Context(), keys)
		wantExactly(t, err, redlock.ErrTaken)
		want := []string{one.Key(), two.Key(), keys[0]}
		if !slices.Equal(attempts, want) {
			t.Errorf("attempts at %q, want %q", attempts, want)
		}
		if want := []string{keys[0], keys[0], keys[0]}; !slices.Equal(waits, want) {
			t.Errorf("calls for %q have ended, want %q", waits, want)
		}
	})
}

// A taken slot costs one command, and all slots together take one round trip. A free slot is found
// even if it is one of many. The error is about the key that is free soonest.
func TestManySlotsAreLookedAtTogether(t *testing.T) {
	inUnguardedFarSim(t, 5, func(t *testing.T, s *sim) {
		keys := slots(128)
		held := s.must(s.open().LockAll(t.Context(), keys, redlock.WithLease(time.Minute)))
		time.Sleep(time.Second)
		for i := range s.All {
			s.Ask(i, "PEXPIRE", keys[77], 20_000)
		}
		c := s.openReady()
		before := s.asked()
		within(t, away, func() {
			_, err := c.TryLockAny(t.Context(), keys)
			wantExactly(t, err, redlock.ErrTaken)
			if h, ok := errors.AsType[*redlock.Holder](err); !ok || h.Key != keys[77] || h.Token != held.Token() {
				t.Errorf("%v is about %+v", err, h)
			}
		})
		if n := s.asked() - before; n != len(keys) {
			t.Errorf("%d commands for %d keys", n, len(keys))
		}
		s.do("DEL", keys[99])
		within(t, 2*away, func() {
			if l := s.must(c.TryLockAny(t.Context(), keys)); l.Key() != keys[99] {
				t.Errorf("got %s", l.Key())
			}
		})
	})
}

// waitsAt returns the key for which the only waiter for some keys waits now.
func (s *sim) waitsAt(keys []string) string {
	s.T.Helper()
	for _, key := range keys {
		for _, entries := range s.queues(key) {
			if len(entries) > 0 {
				return key
			}
		}
	}
	s.T.Fatalf("nobody waits for any of %q", keys)
	return ""
}

// A waiter for one of several keys waits for one key at a time, and is woken at once for that key.
// It finds the others when it stops waiting there: after 0.2 s at first, after 2 s at most.
func TestASlotThatIsGivenBackIsFound(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		keys := slots(3)
		for name, test := range map[string]struct {
			waited, within time.Duration
			here           bool // the key for which it waits is released
		}{
			"here":                    {0, soon, true},
			"here, after long":        {20 * time.Second, soon, true},
			"elsewhere":               {0, 200*time.Millisecond + soon, false},
			"elsewhere, after long":   {20 * time.Second, 2*time.Second + soon, false},
			"elsewhere, after longer": {time.Minute + 700*time.Millisecond, 2*time.Second + soon, false},
		} {
			held := map[string]*redlock.Lock{}
			for range keys {
				l := s.must(s.open().LockAny(t.Context(), keys))
				held[l.Key()] = l
			}
			c := s.open()
			q := s.queueFor(c, func(ctx context.Context) (*redlock.Lock, error) { return c.LockAny(ctx, keys) })
			time.Sleep(test.waited)
			at := s.waitsAt(keys)
			if !test.here {
				at = keys[(slices.Index(keys, at)+1)%len(keys)]
			}
			time.AfterFunc(time.Minute, q.cancel)
			within(t, test.within, func() {
				unlock(t, held[at])
				if l := q.mustHave(t); l.Key() != at {
					t.Errorf("%s: got %s, want %s", name, l.Key(), at)
				}
			})
			held[at] = q.lock
			for _, l := range held {
				unlock(t, l)
			}
			s.wantClean()
		}
	})
}

// However often it changes keys, a call is one call: it has one bound, one outage time-out, one
// begin and one end in the trace. One pass over the keys is one of its tries.
func TestACallForASlotHasOneBound(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		keys := slots(3)
		held := s.must(s.open().LockAll(t.Context(), keys))
		begun, ended, attempts := 0, 0, 0
		c := s.open(redlock.WithTrace(&redlock.Trace{
			Begin: func(ctx context.Context, i redlock.BeginInfo) context.Context {
				if begun++; !slices.Equal(i.Keys, keys) {
					t.Errorf("begun for %q", i.Keys)
				}
				return ctx
			},
			Attempt: func(redlock.AttemptInfo) { attempts++ },
			Wait:    func(redlock.WaitInfo) { ended++ },
		}))
		took := within(t, 5*time.Second+soon, func() {
			_, err := c.LockAny(t.Context(), keys, redlock.WithWait(5*time.Second))
			wantExactly(t, err, redlock.ErrTaken, context.DeadlineExceeded)
		})
		if took < 5*time.Second || begun != 1 || ended != 1 {
			t.Errorf("it waited for %v, and was told to begin %d times and to end %d times", took, begun, ended)
		}
		attempts = 0
		_, err := c.LockAny(t.Context(), keys, redlock.WithTries(7))
		if wantExactly(t, err, redlock.ErrTaken); attempts != 7 {
			t.Errorf("7 tries are told as %d attempts", attempts)
		}
		q := s.queueFor(c, func(ctx context.Context) (*redlock.Lock, error) { return c.LockAny(ctx, keys) })
		time.Sleep(20 * time.Second)
		s.Kill(0, 1, 2)
		time.AfterFunc(time.Minute, q.cancel)
		took = within(t, 5*time.Second, func() { <-q.done })
		if wantExactly(t, q.err, redlock.ErrNoQuorum); took < 2900*time.Millisecond {
			t.Errorf("an outage was waited for for %v, want 3s", took)
		}
		_ = held.Unlock(t.Context())
	})
}

// Waiting calls cost the masters little: each looks at some other keys between two stays.
func TestIdleWaitersForSlotsCostLittle(t *testing.T) {
	const waiters, seconds = 20, 20
	inUnguardedSim(t, 5, func(t *testing.T, s *sim) {
		keys := slots(10)
		held := s.must(s.open().LockAll(t.Context(), keys, redlock.WithLease(time.Minute)))
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for range waiters {
			c := s.open()
			wg.Go(func() {
				_, err := c.LockAny(ctx, keys)
				wantExactly(t, err, redlock.ErrTaken, context.Canceled)
			})
		}
		time.Sleep(6 * time.Second)
		if n := s.questions(seconds*time.Second) / waiters; n > 10 {
			t.Errorf("%.1f commands a second for each", n)
		}
		cancel()
		wg.Wait()
		unlock(t, held)
		s.wantClean()
	})
}

// Calls are cancelled, and clients close, at any moment. There are never more holders than keys,
// and in the end each key can be acquired.
func TestAStormForSlotsLeavesNoneBehind(t *testing.T) {
	t.Parallel()
	const permits = 3
	inUnguardedFarSim(t, 5, func(t *testing.T, s *sim) {
		var mu sync.Mutex
		inside, most, had, gaveUp := 0, 0, 0, 0
		var wg sync.WaitGroup
		for i := range 8 {
			clients := []*redlock.Client{s.openReady(), s.openReady(), s.openReady()}
			dice := rand.New(rand.NewPCG(uint64(i), 0))
			wg.Go(func() {
				for _, c := range clients {
					for range 8 {
						ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+dice.IntN(1500))*time.Millisecond)
						l, err := c.Semaphore("permits", permits).Acquire(ctx)
						if err == nil {
							mu.Lock()
							inside, had = inside+1, had+1
							most = max(most, inside)
							mu.Unlock()
							time.Sleep(time.Duration(dice.IntN(300)) * time.Millisecond)
							mu.Lock()
							inside--
							mu.Unlock()
							_ = l.Unlock(t.Context())
						} else {
							mu.Lock()
							gaveUp++
							mu.Unlock()
						}
						cancel()
					}
					closing := time.AfterFunc(time.Duration(dice.IntN(20))*time.Millisecond, func() { _ = c.Close() })
					_, _ = c.Semaphore("permits", permits).Acquire(t.Context(), redlock.WithLease(time.Second))
					time.Sleep(time.Second)
					closing.Stop()
				}
			})
		}
		wg.Wait()
		if most != permits || gaveUp < 10 || had < 100 {
			t.Errorf("%d were in together, %d had a permit, %d gave up", most, had, gaveUp)
		}
		time.Sleep(2 * time.Second)
		s.wantClean()
	})
}
