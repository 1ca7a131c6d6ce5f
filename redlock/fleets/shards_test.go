package fleets_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redquorum/redquorum/redlock"
	"github.com/redquorum/redquorum/redlock/fleets"
)

// keyOf finds a key of a shard.
func keyOf(s *fleets.Shards, shard string, nth int) string {
	for i := 0; ; i++ {
		if key := fmt.Sprintf("key-%d", i); s.Shard(key) == shard {
			if nth--; nth < 0 {
				return key
			}
		}
	}
}

func TestKeysStandInTheirShardAlone(t *testing.T) {
	inTwoShards(t, func(t *testing.T, s *sim, shards *fleets.Shards) {
		for _, name := range []string{"a", "b"} {
			key := keyOf(shards, name, 0)
			h := lock(t, shards, key)
			inA, inB := s.on(key, 0, 2), s.on(key, 3, 5)
			if name == "b" {
				inA, inB = inB, inA
			}
			if h.Key() != key || inA != 3 || inB != 0 {
				t.Errorf("%s of shard %s, as %s: on %d masters of its shard and %d others", key, name, h.Key(), inA, inB)
			}
			wantNil(t, h.Extend(t.Context()))
			wantNil(t, h.Verify(t.Context()))
			wantFleet(t, errorOf(shards.TryLock(t.Context(), key)), name, redlock.ErrTaken)
			unlock(t, h)
			wantFleet(t, h.Unlock(t.Context()), name, redlock.ErrNotHeld, redlock.ErrUnlocked)
			wantFleet(t, h.Extend(t.Context()), name, redlock.ErrNotHeld)
		}
	})
}

func TestAnOutageIsOfOneShardAlone(t *testing.T) {
	inTwoShards(t, func(t *testing.T, s *sim, shards *fleets.Shards) {
		s.Kill(0, 1)
		err := errorOf(shards.TryLock(t.Context(), keyOf(shards, "a", 0)))
		wantFleet(t, err, "a", redlock.ErrNoQuorum)
		if q, ok := errors.AsType[*redlock.QuorumError](err); !ok || q.Total != 3 {
			t.Errorf("%v: no *QuorumError of three masters", err)
		}
		unlock(t, lock(t, shards, keyOf(shards, "b", 0)))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		wantFleet(t, shards.Ready(ctx), "a", redlock.ErrNoQuorum, context.DeadlineExceeded)
		all, err := shards.LockAll(t.Context(), []string{keyOf(shards, "a", 0), keyOf(shards, "b", 0)})
		wantFleet(t, err, "a", redlock.ErrNoQuorum)
		if s.wantOn(keyOf(shards, "b", 0), 3, 5, 0); all != nil {
			t.Errorf("%v beside %v", all, err)
		}
	})
}

func TestDoRunsInTheShardAndItsErrorsAreItsOwn(t *testing.T) {
	inTwoShards(t, func(t *testing.T, s *sim, shards *fleets.Shards) {
		key, mine := keyOf(shards, "b", 0), errors.New("mine")
		err := shards.Do(t.Context(), key, func(ctx context.Context) error {
			wantIs(t, errorOf(shards.TryLock(ctx, key)), redlock.ErrReentrant)
			return mine
		})
		if err != mine { //nolint:errorlint // it is to be the same
			t.Errorf("%v: want the function's own error", err)
		}
		lost := shards.Do(t.Context(), key, func(ctx context.Context) error {
			s.Kill(3, 4)
			<-ctx.Done()
			return nil
		}, redlock.WithTTL(time.Second))
		wantFleet(t, lost, "b", redlock.ErrLost)
		h := lock(t, shards, keyOf(shards, "a", 0))
		defer unlock(t, h)
		ran := false
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err = shards.Do(ctx, h.Key(), func(context.Context) error { ran = true; return nil })
		if wantFleet(t, err, "a", redlock.ErrTaken); ran {
			t.Error("the function ran without the lock")
		}
		wantText(t, shards.Do(t.Context(), "k", nil), "nil")
	})
}

func TestTheShardOfAKeyDependsOnTheNamesAlone(t *testing.T) {
	inSim(t, 4, func(t *testing.T, s *sim) {
		var clients []*redlock.Client
		for i := range 4 {
			clients = append(clients, s.open(i, i))
		}
		three := s.sharded(map[string]*redlock.Client{"a": clients[0], "b": clients[1], "c": clients[2]})
		other := s.sharded(map[string]*redlock.Client{"c": clients[1], "a": clients[2], "b": clients[0]})
		four := s.sharded(map[string]*redlock.Client{"a": clients[0], "b": clients[1], "c": clients[2], "d": clients[3]})
		const n = 4000
		count, moved := map[string]int{}, 0
		for i := range n {
			key := fmt.Sprintf("orders/%d", i)
			before, after := three.Shard(key), four.Shard(key)
			if other.Shard(key) != before {
				t.Fatalf("%s: shard %s, of other clients with the same names %s", key, before, other.Shard(key))
			}
			count[after]++
			if before != after {
				if moved++; after != "d" {
					t.Fatalf("%s went from %s to %s, which is not the new shard", key, before, after)
				}
			}
		}
		for name, got := range count {
			if got < n/4*8/10 || got > n/4*12/10 {
				t.Errorf("shard %s has %d of %d keys: want about a quarter", name, got, n)
			}
		}
		if moved != count["d"] {
			t.Errorf("%d keys moved, %d are in the new shard", moved, count["d"])
		}
		// Fixed for good: all clients, of whatever version, must agree.
		for key, want := range map[string]string{"orders/0": "c", "orders/1": "a", "orders/2": "c", "": "b", "ключ": "c"} {
			if got := four.Shard(key); got != want {
				t.Errorf("%q: shard %s, want %s", key, got, want)
			}
		}
	})
}

func TestBadShardsAreRefusedWithWhatAndWhy(t *testing.T) {
	inSim(t, 6, func(t *testing.T, s *sim) {
		a, b := s.open(0, 2), s.open(3, 5)
		overlapping := s.open(2, 3)
		inner := s.sharded(map[string]*redlock.Client{"x": a})
		moving := s.moving(a, b)
		for name, test := range map[string]struct {
			shards map[string]fleets.Locker
			want   []string
		}{
			"none":               {nil, []string{"no shard"}},
			"empty":              {map[string]fleets.Locker{}, []string{"no shard"}},
			"an empty name":      {map[string]fleets.Locker{"": fleets.One(a)}, []string{"name is empty"}},
			"nil":                {map[string]fleets.Locker{"a": nil}, []string{`"a"`, "nil"}},
			"One(nil)":           {map[string]fleets.Locker{"a": fleets.One(nil)}, []string{`"a"`, "nil"}},
			"a nil Shards":       {map[string]fleets.Locker{"a": (*fleets.Shards)(nil)}, []string{`"a"`, "Sharded"}},
			"the zero Shards":    {map[string]fleets.Locker{"a": new(fleets.Shards)}, []string{`"a"`, "Sharded"}},
			"another's Locker":   {map[string]fleets.Locker{"a": foreign{fleets.One(a)}}, []string{`"a"`, "foreign", "One, Sharded or Moving"}},
			"one client twice":   {map[string]fleets.Locker{"a": fleets.One(a), "b": fleets.One(a)}, []string{`"a" and "b"`, "client"}},
			"one fleet twice":    {map[string]fleets.Locker{"a": fleets.One(a), "b": fleets.One(s.open(0, 2))}, []string{`"a" and "b"`, "the fleet "}},
			"a server twice":     {map[string]fleets.Locker{"a": fleets.One(a), "b": fleets.One(overlapping)}, []string{`"a" and "b"`, "the server ", "database 0"}},
			"inside another":     {map[string]fleets.Locker{"a": inner, "b": fleets.One(a)}, []string{`"a" and "b"`, "client"}},
			"a side of a Moving": {map[string]fleets.Locker{"a": moving, "b": fleets.One(b)}, []string{`"a" and "b"`, "client"}},
		} {
			got, err := fleets.Sharded(test.shards)
			if err == nil {
				t.Errorf("%s: no error", name)
				_ = got
				continue
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%s: %v: want %q in it", name, err, want)
				}
			}
		}
	})
}

type foreign struct{ fleets.Locker }

// Where two lists name one server differently, that shows when it has said who it is.
func TestShardsThatTurnOutToBeOneFleetAreRefused(t *testing.T) {
	for _, level := range []redlock.GuardLevel{redlock.GuardOff, redlock.GuardStandard} {
		t.Run(level.String(), func(t *testing.T) {
			inSim(t, 3, func(t *testing.T, s *sim) {
				a := s.open(0, 2, redlock.WithGuard(level))
				b, let := s.openLater(0, 2, redlock.WithGuard(level))
				shards, err := fleets.Sharded(map[string]fleets.Locker{"a": fleets.One(a), "b": fleets.One(b)})
				if err != nil {
					t.Fatal(err)
				}
				key := keyOf(shards, "a", 0)
				unlock(t, lock(t, shards, key)) // nothing is known yet
				let()
				time.Sleep(10 * time.Second)
				for what, err := range map[string]error{
					"Ready": shards.Ready(t.Context()), "Lock": errorOf(shards.Lock(t.Context(), key)),
					"LockAll": errorOf(shards.LockAll(t.Context(), []string{key})), "LockAny": errorOf(shards.LockAny(t.Context(), []string{key})),
					"TryLock": errorOf(shards.TryLock(t.Context(), key)), "RLock": errorOf(shards.RWMutex(key).RLock(t.Context())),
					"Do": shards.Do(t.Context(), key, func(context.Context) error { return nil }),
				} {
					if err == nil || !strings.Contains(err.Error(), `shards "a" and "b" share`) {
						t.Errorf("%s: %v", what, err)
					}
				}
			})
		})
	}
}
