package redlock_test

import (
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/redlock"
)

// A skewedClock is Go's clock with a wall clock that is off.
type skewedClock struct {
	mu  sync.Mutex
	off time.Duration // guarded by mu
}

func (c *skewedClock) Now() drift.Instant {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	return drift.AtWithoutBoot(now.Sub(time.Unix(0, 0)), now.Add(c.off))
}

// fence returns a master's highest token of a key; 0: none.
func (s *sim) fence(master int, key string) uint64 {
	s.T.Helper()
	v, ok := s.All[master].Get("redquorum:fence:1:" + key)
	if !ok {
		return 0
	}
	f, err := strconv.ParseUint(v, 10, 64)
	if err != nil {
		s.T.Fatal(err)
	}
	return f
}

// spread makes the fences of a key differ, so that any quorum of masters needs a second round. It
// returns the lowest.
func (s *sim) spread(key string) (lowest uint64) {
	s.T.Helper()
	lowest = uint64(time.Now().Add(time.Hour).UnixMicro())
	for i := range s.All {
		s.setFence(lowest+1000*uint64(i), key, i)
	}
	return lowest
}

func (s *sim) setFence(f uint64, key string, masters ...int) {
	s.T.Helper()
	for _, i := range masters {
		if err := s.All[i].Set("redquorum:fence:1:"+key, strconv.FormatUint(f, 10), time.Hour); err != nil {
			s.T.Fatal(err)
		}
	}
}

// wantNoLocks fails if any key except fences is left anywhere.
func (s *sim) wantNoLocks() {
	s.T.Helper()
	synctest.Wait()
	for _, key := range s.dataKeys() {
		if !strings.HasPrefix(key, "redquorum:fence:1:") {
			s.T.Errorf("key left behind: %q", key)
		}
	}
}

func TestAFencingTokenIsTheClockAndStoredOnEveryMaster(t *testing.T) {
	inUnguardedSim(t, 5, func(t *testing.T, s *sim) {
		c := s.open(redlock.WithFencing())
		before := uint64(time.Now().UnixMicro())
		l := mustLock(t, c, "key")
		if l.Fence() < before || l.Fence() > before+1000 {
			t.Errorf("token %d, at %d µs", l.Fence(), before)
		}
		for i := range s.All {
			if got := s.fence(i, "key"); got != l.Fence() {
				t.Errorf("master %d stores %d, want %d", i, got, l.Fence())
			}
			if ttl, _ := s.All[i].TTL("redquorum:fence:1:key"); ttl != 24*time.Hour {
				t.Errorf("kept for %v", ttl)
			}
		}
		unlock(t, l)
		s.wantNoLocks()
		if got := c.Stats(); got.FencingTokens != 1 || got.FencingRaises != 0 {
			t.Errorf("%+v", got)
		}
	})
}

func TestExtensionsKeepTheTokenAndTheFence(t *testing.T) {
	inUnguardedSim(t, 5, func(t *testing.T, s *sim) {
		c := s.open()
		l := mustLock(t, c, "key", redlock.WithFencing())
		f := l.Fence()
		s.Restart(false, 0)
		synctest.Wait()
		time.Sleep(20 * time.Second) // renewals set the lock again
		synctest.Wait()
		if l.Fence() != f || s.fence(0, "key") != f || s.holders("key", l.Token()) != 5 {
			t.Errorf("token %d after %d, the restarted master has %d", l.Fence(), f, s.fence(0, "key"))
		}
		if ttl, _ := s.All[1].TTL("redquorum:fence:1:key"); ttl < 24*time.Hour-5*time.Second {
			t.Errorf("the fence is kept for %v more", ttl)
		}
		unlock(t, l)
		s.wantNoLocks()
	})
}

// If fewer than a quorum gave the token, a second round raises the others.
func TestSecondRoundRaisesLowerFences(t *testing.T) {
	inUnguardedSim(t, 5, func(t *testing.T, s *sim) {
		c := s.open()
		lowest := s.spread("key")
		l := mustLock(t, c, "key", redlock.WithFencing())
		synctest.Wait()
		n := 0
		for i := range s.All {
			if s.fence(i, "key") >= l.Fence() {
				n++
			}
		}
		if l.Fence() < lowest+2001 || n < 3 {
			t.Errorf("token %d, the lowest was %d; %d masters store it", l.Fence(), lowest, n)
		}
		if got := c.Stats(); got.FencingRaises != 1 {
			t.Errorf("%+v", got)
		}
		unlock(t, l)
		if next := mustLock(t, c, "key", redlock.WithFencing()); next.Fence() <= l.Fence() {
			t.Errorf("token %d after %d", next.Fence(), l.Fence())
		}
	})
}

// A fence may be ahead because somebody set it, or because a client's clock was ahead. It does not
// move the tokens of other keys, whoever saw it.
func TestAFenceAheadOfTheClocksDoesNotAffectOtherKeys(t *testing.T) {
	for name, ahead := range map[string]uint64{"a minute": 60e6, "an hour": 3600e6, "as far as can be": 1<<53 - 100 - 2_000_000_000_000_000} {
		t.Run(name, func(t *testing.T) {
			inUnguardedSim(t, 5, func(t *testing.T, s *sim) {
				c := s.open(redlock.WithFencing())
				far := uint64(time.Now().UnixMicro()) + ahead
				s.setFence(far, "key", 0, 1, 2, 3, 4)
				l := mustLock(t, c, "key")
				if l.Fence() != far+1 {
					t.Errorf("token %d, want %d", l.Fence(), far+1)
				}
				unlock(t, l)
				if l := s.must(c.RWMutex("key").RLock(t.Context())); l.Fence() != far+1 {
					t.Errorf("a reader's token is %d, want %d", l.Fence(), far+1)
				}
				for _, l := range []*redlock.Lock{mustLock(t, c, "other"), s.must(c.LockAll(t.Context(), []string{"a", "b"}))} {
					if now := uint64(time.Now().UnixMicro()); l.Fence() > now {
						t.Errorf("the token of %q is %d, %d above the clock", l.Key(), l.Fence(), l.Fence()-now)
					}
				}
			})
		})
	}
}

func TestEveryLockOfSeveralKeysHasATokenAboveAllOfTheirs(t *testing.T) {
	inUnguardedSim(t, 5, func(t *testing.T, s *sim) {
		c := s.open(redlock.WithFencing())
		ahead := uint64(time.Now().Add(time.Hour).UnixMicro())
		s.setFence(ahead, "b", 0, 1, 2, 3, 4)
		l := s.must(c.LockAll(t.Context(), []string{"a", "b", "c"}))
		for i := range s.All {
			for _, key := range l.Keys() {
				if s.fence(i, key) != ahead+1 {
					t.Errorf("master %d stores %d for %s", i, s.fence(i, key), key)
				}
			}
		}
		if l.Fence() != ahead+1 {
			t.Errorf("token %d after %d", l.Fence(), ahead)
		}
		if err := l.Extend(t.Context()); err != nil {
			t.Error(err)
		}
		unlock(t, l)
		s.wantNoLocks()
	})
}

// A writer's failed attempt has left its token on a minority. A reader that meets it gets it, and
// so does every later reader, whichever masters it meets. Every later writer gets a higher one.
func TestAReadersTokenIsKnownToAQuorum(t *testing.T) {
	inUnguardedSim(t, 5, func(t *testing.T, s *sim) {
		c := s.open(redlock.WithFencing())
		m := c.RWMutex("key")
		w := s.must(m.Lock(t.Context()))
		before := w.Fence()
		unlock(t, w)
		left := before + 1_000_000_000 // ahead of everybody's clock
		s.setFence(left, "key", 0)
		rlock := func(without ...int) uint64 {
			t.Helper()
			s.Kill(without...)
			r := s.must(s.open(redlock.WithFencing()).RWMutex("key").RLock(t.Context()))
			unlock(t, r)
			s.Restart(true, without...)
			time.Sleep(time.Minute)
			return r.Fence()
		}
		if f := rlock(0, 4); f != before {
			t.Errorf("token %d of a reader that did not meet it, want %d", f, before)
		}
		if f := s.fence(1, "key"); f != before {
			t.Errorf("the fence is %d after a reader, want %d", f, before)
		}
		if f := rlock(3, 4); f != left {
			t.Errorf("token %d, want %d", f, left)
		}
		if f := rlock(0, 1); f != left {
			t.Errorf("token %d of a later reader, want %d", f, left)
		}
		if n := s.fence(2, "key"); n != left {
			t.Errorf("fence %d, want %d", n, left)
		}
		s.Kill(0, 1)
		w = mustLock(t, s.open(redlock.WithFencing()), "key")
		if w.Fence() <= left {
			t.Errorf("token %d of a later writer, want more than %d", w.Fence(), left)
		}
		unlock(t, w)
		s.Restart(true, 0, 1)
		time.Sleep(time.Minute)
		s.wantNoLocks()
	})
}

func TestWhoAdoptsGetsAHigherTokenAndWhoReentersTheSame(t *testing.T) {
	inUnguardedSim(t, 5, func(t *testing.T, s *sim) {
		c := s.open(redlock.WithFencing(), redlock.WithReentrancy())
		l := mustLock(t, c, "key")
		inner, err := c.Lock(l.Context(), "key")
		if err != nil || inner.Fence() != l.Fence() {
			t.Fatalf("token %d, want %d: %v", inner.Fence(), l.Fence(), err)
		}
		unlock(t, inner)
		f := l.Fence()
		token := handedOver(t, l)
		adopted, err := s.open().Adopt(t.Context(), "key", token, redlock.WithFencing())
		if err != nil || adopted.Fence() <= f {
			t.Fatalf("adopted with %d, want more than %d: %v", adopted.Fence(), f, err)
		}
		unlock(t, adopted)
		s.wantNoLocks()
	})
}

func TestWhoWantsATokenIsNotLetInWhereThereIsNone(t *testing.T) {
	inUnguardedSim(t, 3, func(t *testing.T, s *sim) {
		c := s.open(redlock.WithReentrancy())
		l := mustLock(t, c, "key")
		_, err := c.Lock(l.Context(), "key", redlock.WithFencing())
		wantExactly(t, err, redlock.ErrReentrant)
	})
}
