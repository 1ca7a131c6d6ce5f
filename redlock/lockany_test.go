package redlock_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

// slots names n keys.
func slots(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("slot-%02d", i)
	}
	return keys
}

// atOnce tries again without a pause.
func atOnce() redlock.LockOption {
	return redlock.WithBackoff(func(int) time.Duration { return 0 })
}

func TestEverySlotIsGivenOnceAndThenItIsTaken(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		c, d := s.open(), s.open()
		keys := slots(4)
		got := map[string]*redlock.Lock{}
		for range keys {
			l := s.must(c.LockAny(t.Context(), append(keys, keys[0]))) // named twice, there once
			if got[l.Key()] != nil {
				t.Errorf("%s was given twice", l.Key())
			}
			got[l.Key()] = l
		}
		_, err := d.TryLockAny(t.Context(), keys)
		wantExactly(t, err, redlock.ErrTaken)
		h, ok := errors.AsType[*redlock.HeldError](err)
		if !ok || got[h.Key] == nil || got[h.Key].Token() != h.Token || !strings.Contains(err.Error(), `"slot-00" and 3 more`) {
			t.Errorf("%v does not say who holds one of the keys: %+v", err, h)
		}
		unlock(t, got[keys[2]])
		if l := s.must(d.LockAny(t.Context(), keys)); l.Key() != keys[2] {
			t.Errorf("got %s, only %s is free", l.Key(), keys[2])
		}
	})
}

// Only when all slots are held under the context is waiting for one waiting for
// oneself.
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
		_, err = c.TryLockAny(second.Context(), keys) // another may give one back
		wantExactly(t, err, redlock.ErrTaken)
		_, err = c.TryLock(first.Context(), first.Key())
		wantExactly(t, err, redlock.ErrReentrant)
	})
}

// Contenders that start together on twice as many slots: nearly all of them get
// one. With the same order for all, six of ten do.
func TestARandomOrderGivesNearlyEveryContenderASlot(t *testing.T) {
	const contenders, rounds = 10, 40
	inSim(t, 5, func(t *testing.T, s *sim) {
		keys := slots(2 * contenders)
		clients := make([]*redlock.Client, contenders)
		for i := range clients {
			clients[i] = s.open()
		}
		winners := 0
		for range rounds {
			locks := make([]*redlock.Lock, contenders)
			var wg sync.WaitGroup
			for i, c := range clients {
				wg.Go(func() { locks[i], _ = c.TryLockAny(t.Context(), keys) })
			}
			wg.Wait()
			for _, l := range locks {
				if l != nil {
					winners++
					_ = l.Unlock(t.Context())
				}
			}
			s.wantClean()
		}
		t.Logf("%.2f of %d contenders got one of %d slots", float64(winners)/rounds, contenders, len(keys))
		if winners < rounds*contenders*8/10 {
			t.Errorf("%d of %d attempts got a slot", winners, rounds*contenders)
		}
	})
}

// Attempts are told with the slot that was got, or with the first where none was. The call
// ends with the name that it began with.
func TestTheTraceNamesTheSlot(t *testing.T) {
	inSim(t, 3, func(t *testing.T, s *sim) {
		var attempts, waits, nodes []string
		c := s.open(redlock.WithTrace(&redlock.Trace{
			Attempt: func(i redlock.AttemptInfo) { attempts = append(attempts, i.Key) },
			Wait:    func(i redlock.WaitInfo) { waits = append(waits, i.Key) },
			Node:    func(i redlock.NodeInfo) { nodes = append(nodes, i.Op) },
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
		if len(nodes) != 9 { // the release of other slots is nobody's question
			t.Errorf("masters' parts: %q", nodes)
		}
	})
}
