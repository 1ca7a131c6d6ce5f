package fleets_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redquorum/redquorum/redlock"
	"github.com/redquorum/redquorum/redlock/fleets"
)

func inTwoShards(t *testing.T, test func(t *testing.T, s *sim, shards *fleets.Shards)) {
	t.Helper()
	inSim(t, 6, func(t *testing.T, s *sim) {
		test(t, s, s.sharded(map[string]*redlock.Client{"a": s.open(0, 2), "b": s.open(3, 5)}))
	})
}

func TestLockAllAcrossShardsIsAllOrNone(t *testing.T) {
	inTwoShards(t, func(t *testing.T, s *sim, shards *fleets.Shards) {
		a0, a1, b0 := keyOf(shards, "a", 0), keyOf(shards, "a", 1), keyOf(shards, "b", 0)
		all := s.held(shards.LockAll(t.Context(), []string{b0, a1, a0, b0}, redlock.WithFencing()))
		if s.on(a0, 0, 2) != 3 || s.on(a1, 0, 2) != 3 || s.on(b0, 3, 5) != 3 || s.on(b0, 0, 2) != 0 || s.on(a0, 3, 5) != 0 {
			t.Error("not all keys are where they should be")
		}
		if all.Key() != min(a0, a1, b0) || all.Fence() == 0 || all.Remaining() <= 0 {
			t.Errorf("key %q, fence %d, remaining %v", all.Key(), all.Fence(), all.Remaining())
		}
		wantIs(t, errorOf(shards.TryLock(all.Context(), a0)), redlock.ErrReentrant)
		wantIs(t, errorOf(shards.TryLockAll(all.Context(), []string{b0})), redlock.ErrReentrant)
		unlock(t, all)
		wantIs(t, context.Cause(all.Context()), redlock.ErrUnlocked)

		one := lock(t, shards, b0, redlock.WithFencing())
		if one.Fence() <= all.Fence() {
			t.Errorf("token %d after %d", one.Fence(), all.Fence())
		}
		wantFleet(t, errorOf(shards.TryLockAll(t.Context(), []string{a0, b0})), "b", redlock.ErrTaken)
		s.wantOn(a0, 0, 2, 0)
		go func() {
			time.Sleep(300 * time.Millisecond)
			unlock(t, one)
		}()
		all = s.held(shards.LockAll(t.Context(), []string{a0, b0}, redlock.WithFencing()))
		if all.Fence() <= one.Fence() {
			t.Errorf("token %d after %d", all.Fence(), one.Fence())
		}
		unlock(t, all)

		set := s.held(shards.LockAll(t.Context(), []string{a1, a0}))
		wantFleet(t, errorOf(shards.TryLockAll(t.Context(), []string{a1, a0})), "a", redlock.ErrTaken)
		unlock(t, set)
		wantText(t, errorOf(shards.LockAll(t.Context(), nil)), "0 keys")
		wantText(t, errorOf(shards.LockAll(t.Context(), []string{a0, ""})), "key is empty")
	})
}

func TestLockAllEndsWithTheLossInAnyShard(t *testing.T) {
	inTwoShards(t, func(t *testing.T, s *sim, shards *fleets.Shards) {
		a, b := keyOf(shards, "a", 0), keyOf(shards, "b", 0)
		all := s.held(shards.LockAll(t.Context(), []string{a, b}, redlock.WithTTL(2*time.Second)))
		s.Kill(0, 1)
		<-all.Context().Done()
		wantFleet(t, context.Cause(all.Context()), "a", redlock.ErrLost)
		s.wantOn(b, 3, 5, 0)
		wantFleet(t, all.Extend(t.Context()), "a", redlock.ErrLost, redlock.ErrNotHeld)
		wantFleet(t, all.Unlock(t.Context()), "a", redlock.ErrLost, redlock.ErrNotHeld)
		if all.Remaining() != 0 {
			t.Errorf("%v remain", all.Remaining())
		}
	})
}

// Sets overlap in every way, over both shards and within one, and single keys are taken
// in between: everybody gets there.
func TestOverlappingSetsOverShardsDoNotDeadlock(t *testing.T) {
	inTwoShards(t, func(t *testing.T, s *sim, shards *fleets.Shards) {
		other := s.sharded(map[string]*redlock.Client{"a": s.open(0, 2), "b": s.open(3, 5)})
		var keys []string
		for i := range 2 {
			keys = append(keys, keyOf(shards, "a", i), keyOf(shards, "b", i))
		}
		var b book
		var wg sync.WaitGroup
		for w := range 8 {
			l := []*fleets.Shards{shards, other}[w%2]
			wg.Go(func() {
				for round := range 5 {
					mine := []string{keys[(w+round)%4], keys[(w+round+1+round%3)%4]}
					if w%4 == 3 {
						mine = mine[:1]
					}
					ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
					h, err := l.LockAll(ctx, mine)
					cancel()
					if err != nil {
						t.Errorf("worker %d, round %d: %v", w, round, err)
						return
					}
					b.write(t, fmt.Sprint("worker ", w), h, 20*time.Millisecond, mine...)
					unlock(t, h)
				}
			})
		}
		wg.Wait()
	})
}

func TestLockAnyTakesWhatIsFreeInAnyShard(t *testing.T) {
	inTwoShards(t, func(t *testing.T, s *sim, shards *fleets.Shards) {
		keys := []string{keyOf(shards, "a", 0), keyOf(shards, "a", 1), keyOf(shards, "b", 0)}
		held := map[string]fleets.Hold{}
		for range keys {
			h := s.held(shards.LockAny(t.Context(), keys))
			if held[h.Key()] != nil {
				t.Errorf("%s is held twice", h.Key())
			}
			held[h.Key()] = h
		}
		wantIs(t, errorOf(shards.TryLockAny(t.Context(), keys)), redlock.ErrTaken)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		wantIs(t, errorOf(shards.LockAny(ctx, keys)), redlock.ErrTaken, context.DeadlineExceeded)
		for _, key := range keys {
			go func() {
				time.Sleep(700 * time.Millisecond)
				unlock(t, held[key])
			}()
			began := time.Now()
			h := s.held(shards.LockAny(t.Context(), keys))
			if took := time.Since(began); h.Key() != key || took > 700*time.Millisecond+300*time.Millisecond {
				t.Errorf("%s became free; got %s after %v", key, h.Key(), took)
			}
			held[key] = h
		}
		s.Kill(3, 4)
		unlock(t, held[keys[0]])
		h, err := shards.LockAny(t.Context(), keys)
		if err != nil || h.Key() != keys[0] {
			t.Fatalf("%v, %v: one shard has no quorum, want %s of the other", h, err, keys[0])
		}
		s.Kill(0, 1)
		began := time.Now()
		if _, err = shards.LockAny(t.Context(), keys); !errors.Is(err, redlock.ErrNoQuorum) || time.Since(began) > 5*time.Second {
			t.Errorf("%v after %v: want %v after the outage wait", err, time.Since(began), redlock.ErrNoQuorum)
		}
	})
}

// Only if all keys are held under the context there is nothing to wait for.
func TestLockAnyUnderItsOwnHoldsTakesTheOthers(t *testing.T) {
	inTwoShards(t, func(t *testing.T, s *sim, shards *fleets.Shards) {
		keys := []string{keyOf(shards, "a", 0), keyOf(shards, "b", 0)}
		first := lock(t, shards, keys[0])
		defer unlock(t, first)
		second, err := shards.LockAny(first.Context(), keys)
		if err != nil || second.Key() != keys[1] {
			t.Fatalf("%v, %v: want %s", second, err, keys[1])
		}
		defer unlock(t, second)
		both := s.held(shards.LockAny(t.Context(), []string{"x", "y", "z", "0", "1", "2"}))
		unlock(t, both)
		third := lock(t, fleets.Locker(shards), keyOf(shards, "a", 1))
		unlock(t, third)
		one := []string{keys[0]}
		wantIs(t, errorOf(shards.LockAny(first.Context(), one)), redlock.ErrReentrant)
	})
}

func TestReadersShareAndTheWriterIsThePlainLock(t *testing.T) {
	inTwoShards(t, func(t *testing.T, s *sim, shards *fleets.Shards) {
		key := keyOf(shards, "b", 0)
		m := shards.RWMutex(key)
		var readers []fleets.Hold
		for range 2 {
			r := s.held(m.RLock(t.Context()))
			readers = append(readers, r)
		}
		wantFleet(t, errorOf(shards.TryLock(t.Context(), key)), "b", redlock.ErrTaken)
		wantFleet(t, errorOf(m.TryLock(t.Context())), "b", redlock.ErrTaken)
		for _, r := range readers {
			unlock(t, r)
		}
		w := s.held(m.Lock(t.Context()))
		wantFleet(t, errorOf(m.TryRLock(t.Context())), "b", redlock.ErrTaken)
		unlock(t, w)
	})
}

func TestReportsNameTheFleet(t *testing.T) {
	inTwoShards(t, func(t *testing.T, s *sim, shards *fleets.Shards) {
		h := lock(t, shards, keyOf(shards, "b", 0))
		defer unlock(t, h)
		in, err := shards.Inspect(t.Context(), h.Key())
		if err != nil || len(in) != 1 || in[0].Fleet != "b" || in[0].Verdict != redlock.VerdictHeld || len(in[0].Inspection.Masters) != 3 {
			t.Errorf("%v, %v", in, err)
		}
		wantText(t, errorOf(shards.Inspect(t.Context(), "")), "key is empty")
		var names []string
		for _, m := range shards.Masters(t.Context()) {
			names = append(names, fmt.Sprintf("%s:%v", m.Fleet, m.Votes))
		}
		if got := strings.Join(names, " "); got != "a:true a:true a:true b:true b:true b:true" {
			t.Error(got)
		}
	})
}

func TestCloseEndsAllShards(t *testing.T) {
	inTwoShards(t, func(t *testing.T, s *sim, shards *fleets.Shards) {
		all := s.held(shards.LockAll(t.Context(), []string{keyOf(shards, "a", 0), keyOf(shards, "b", 0)}))
		wantNil(t, shards.Close())
		<-all.Context().Done()
		wantIs(t, context.Cause(all.Context()), redlock.ErrClosed)
		for _, key := range []string{keyOf(shards, "a", 0), keyOf(shards, "b", 0)} {
			s.wantOn(key, 0, 5, 0)
			wantIs(t, errorOf(shards.Lock(t.Context(), key)), redlock.ErrClosed)
		}
		wantNil(t, shards.Close())
	})
}
