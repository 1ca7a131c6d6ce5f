package redlock_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/redlock"
)

// queuer waits for a key on a goroutine of its own.
type queuer struct {
	c      *redlock.Client
	cancel context.CancelFunc
	done   chan struct{}
	lock   *redlock.Lock
	err    error
	took   time.Duration
}

// queue makes a client wait for a key, and returns once it waits.
func (s *sim) queue(c *redlock.Client, key string, opts ...redlock.LockOption) *queuer {
	return s.queueFor(c, func(ctx context.Context) (*redlock.Lock, error) { return c.Lock(ctx, key, opts...) })
}

// queueFor is queue for a lock of any kind.
func (s *sim) queueFor(c *redlock.Client, acquire func(context.Context) (*redlock.Lock, error)) *queuer {
	synctest.Wait() // until all masters, not only a quorum, have what was sent before
	ctx, cancel := context.WithCancel(s.T.Context())
	q := &queuer{c: c, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(q.done)
		began := time.Now()
		q.lock, q.err = acquire(ctx)
		q.took = time.Since(began)
	}()
	settle()
	return q
}

// has reports whether the wait is over and the lock held.
func (q *queuer) has() bool {
	settle()
	select {
	case <-q.done:
		return q.err == nil
	default:
		return false
	}
}

func (q *queuer) mustHave(t *testing.T) *redlock.Lock {
	t.Helper()
	<-q.done
	if q.err != nil {
		t.Fatal(q.err)
	}
	synctest.Wait()
	return q.lock
}

// queues returns the entries of a key's queue on each master.
func (s *sim) queues(key string) (all [][]string) {
	s.T.Helper()
	for i, m := range s.All {
		var entries []string
		if m.Up() && !m.Frozen() {
			entries = s.members(i, queueKey(key))
		}
		all = append(all, entries)
	}
	return all
}

// queueKey is the key of the queue on a key's pilot.
func queueKey(key string) string { return "redquorum:q:1:{" + key + "}" }

// pilot returns the master where somebody waits for the key.
func (s *sim) pilot(key string) int {
	s.T.Helper()
	for i, entries := range s.queues(key) {
		if len(entries) > 0 {
			return i
		}
	}
	s.T.Fatalf("nobody waits for %q", key)
	return 0
}

// The prefix and the key have a common limit, up to which everything works.
func TestThePrefixAndTheKeyHaveOneLimit(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		prefix := redlock.WithKeyPrefix(strings.Repeat("p", 1020))
		_, err := s.open(prefix).Lock(t.Context(), "five!")
		if err == nil || !strings.Contains(err.Error(), "the key has 5 bytes, and the prefix 1020: want at most 1024 together") {
			t.Errorf("a byte too many: %v", err)
		}
		c := s.open(prefix)
		held := s.must(s.open(prefix).LockAll(t.Context(), []string{"four", "more"}))
		q := s.queueFor(c, func(ctx context.Context) (*redlock.Lock, error) { return c.LockAll(ctx, []string{"four", "more"}) })
		one := s.queue(s.open(prefix), "four")
		time.Sleep(10 * time.Second)
		q.mustBeWoken(t, func() { unlock(t, held) })
		one.mustBeWoken(t, func() { unlock(t, q.lock) })
		unlock(t, one.lock)
		s.wantClean()
	})
}

// freeze puts clients first in the queue of a key that receive their calls and do not act on them.
func (s *sim) freeze(key string, n int) {
	s.T.Helper()
	pilot := s.pilot(key)
	for i := range n {
		conn, err := s.All[pilot].Dial(s.T.Context())
		if err != nil {
			s.T.Fatal(err)
		}
		rc := redis.NewConn(conn, 0, 0)
		s.AtEnd(func() { _ = rc.Close() })
		id := fmt.Sprint("frozen-", key, i)
		s.Ask(pilot, "ZADD", queueKey(key), i+1, id)
		if _, err := rc.Do("SUBSCRIBE", "redquorum:w:1:"+id); err != nil {
			s.T.Fatal(err)
		}
	}
}

// A waiter that has waited long looks seldom, but it notices every event as early as a new one.
func TestALongWaitEndsAsSoonAsAShortOne(t *testing.T) {
	t.Parallel()
	inUnguardedSim(t, 5, func(t *testing.T, s *sim) {
		holder, waiter := s.open(), s.open()
		waits := func(key string, opts ...redlock.LockOption) (held *redlock.Lock, q *queuer, pilot int) {
			held = mustLock(t, holder, key)
			q = s.queue(waiter, key, opts...)
			time.Sleep(6 * time.Second)
			return held, q, s.pilot(key)
		}
		done := func(what string, q *queuer, most time.Duration, after func()) {
			t.Helper()
			began := time.Now()
			after()
			unlock(t, q.mustHave(t))
			if took := time.Since(began); took > most {
				t.Errorf("%s: %v, want at most %v", what, took, most)
			}
		}
		held, q, _ := waits("released")
		done("released", q, soon, func() { unlock(t, held) })

		_ = s.must(s.open().Lock(t.Context(), "expired", redlock.WithLease(30*time.Second), redlock.WithUnlockOnly()))
		began := time.Now()
		q = s.queue(s.open(), "expired")
		done("expired", q, 30*time.Second+10*time.Millisecond, func() {})
		if took := time.Since(began); took < 30*time.Second {
			t.Errorf("expired: %v", took)
		}

		for i := range 8 { // at any moment of a pause
			held, q, pilot := waits(fmt.Sprint("its pilot is killed ", i))
			time.Sleep(time.Duration(i*60) * time.Millisecond)
			done("its pilot is killed", q, 250*time.Millisecond+soon, func() {
				s.Kill(pilot)
				unlock(t, held)
			})
			s.Restart(true, pilot)
			time.Sleep(3 * time.Second)
		}

		held, q, pilot := waits("its pilot restarts")
		done("its pilot restarts", q, 750*time.Millisecond, func() {
			s.Restart(true, pilot)
			unlock(t, held)
		})
		time.Sleep(3 * time.Second)

		// Each frozen waiter costs at most 340 ms, on average.
		for _, n := range []int{1, 2, 10} {
			rounds := 40 / n
			if n == 1 { // the mean of fewer pauses varies too much
				rounds = 160
			}
			sum := time.Duration(0)
			for i := range rounds {
				key := fmt.Sprint("behind ", n, i)
				held, q, _ = waits(key, redlock.WithFairness())
				s.freeze(key, n)
				time.Sleep(time.Duration(i*13%520) * time.Millisecond)
				began := time.Now()
				unlock(t, held)
				unlock(t, q.mustHave(t))
				sum += time.Since(began)
			}
			if each := sum / time.Duration(rounds*n); each > 340*time.Millisecond {
				t.Errorf("behind %d that are frozen: %v for each, want at most 340ms", n, each)
			}
		}
	})
}

// Silent masters do not say who holds the key: the call reports an outage.
func TestAMajorityThatFreezesEndsALongWait(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		held := mustLock(t, s.open(), "key")
		q := s.queue(s.open(), "key")
		time.Sleep(20 * time.Second)
		pilot := s.pilot("key")
		for i := range 3 {
			s.Freeze((pilot + 1 + i) % 5)
		}
		time.AfterFunc(time.Minute, q.cancel)
		within(t, 9*time.Second, func() { <-q.done })
		wantExactly(t, q.err, redlock.ErrNoQuorum)
		_ = held.Unlock(t.Context())
	})
}

func TestSubscriptionsEndWhenNobodyWaits(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		c := s.open()
		held := mustLock(t, s.open(), "key")
		connections := func() (n int) {
			synctest.Wait()
			for _, m := range s.All {
				n += m.Connections()
			}
			return n
		}
		before := connections()
		q := s.queue(c, "key")
		if n := connections(); n != before+1 {
			t.Errorf("%d connections for one who waits: want 1", n-before)
		}
		q.cancel()
		<-q.done
		time.Sleep(5 * time.Second)
		if n := connections(); n != before {
			t.Errorf("%d connections more than before", n-before)
		}
		unlock(t, held)
		s.wantClean()
	})
}

func TestWithFairnessNobodyOvertakes(t *testing.T) {
	t.Parallel()
	inSim(t, 5, func(t *testing.T, s *sim) {
		fair := redlock.WithFairness()
		held := mustLock(t, s.open(), "key", fair)
		var waiting []*queuer
		for range 8 {
			waiting = append(waiting, s.queue(s.open(), "key", fair))
			time.Sleep(time.Millisecond)
		}
		// Others try to get in between, all the time.
		over := make(chan struct{})
		var thieves sync.WaitGroup
		for range 3 {
			c := s.open()
			thieves.Go(func() {
				for {
					select {
					case <-over:
						return
					case <-time.After(time.Millisecond):
					}
					if l, err := c.TryLock(t.Context(), "key", fair); err == nil {
						t.Error("a TryLock overtook those who wait")
						_ = l.Unlock(t.Context())
					}
				}
			})
		}
		for i, q := range waiting {
			unlock(t, held)
			held = q.mustHave(t)
			for _, later := range waiting[i+1:] {
				if later.has() {
					t.Errorf("one who came after number %d was served before it", i)
				}
			}
			time.Sleep(20 * time.Millisecond)
		}
		close(over)
		thieves.Wait()
		unlock(t, held)
		s.wantClean()
	})
}
