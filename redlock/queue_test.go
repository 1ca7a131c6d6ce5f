package redlock_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
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

// queue has a client wait for a key, and returns once it does.
func (s *sim) queue(c *redlock.Client, key string, opts ...redlock.LockOption) *queuer {
	return s.queueFor(c, func(ctx context.Context) (*redlock.Lock, error) { return c.Lock(ctx, key, opts...) })
}

// queueFor is queue for a lock of any sort.
func (s *sim) queueFor(c *redlock.Client, acquire func(context.Context) (*redlock.Lock, error)) *queuer {
	synctest.Wait() // until all masters have what was sent before, not a quorum alone
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

// mustHave waits for the lock.
func (q *queuer) mustHave(t *testing.T) *redlock.Lock {
	t.Helper()
	<-q.done
	if q.err != nil {
		t.Fatal(q.err)
	}
	synctest.Wait()
	return q.lock
}

// queues is the entries of all advisory queues, by master.
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

// queueKey is where a key's pilot has the queue.
func queueKey(key string) string { return "redquorum:q:1:{" + key + "}" }

// pilot is the master where somebody waits for the key.
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

func TestAReleaseWakesTheNextClientAtOnceInTheOrderOfTheirComing(t *testing.T) {
	t.Parallel()
	onEachLevel(t, func(t *testing.T, s *sim) {
		held := mustLock(t, s.open(), "key")
		var waiting []*queuer
		for range 6 {
			waiting = append(waiting, s.queue(s.open(), "key"))
			time.Sleep(time.Millisecond)
		}
		time.Sleep(10 * time.Second) // as long as a TTL
		for i, q := range waiting {
			time.Sleep(time.Second)
			q.mustBeWoken(t, func() { unlock(t, held) })
			for _, later := range waiting[i+1:] {
				if later.has() {
					t.Fatal("a later one overtook")
				}
			}
			if held.Fence() != 0 && (q.lock.Fence() <= held.Fence() || q.c.Stats().FencingRaises != 0) {
				t.Errorf("token %d after %d, %d second rounds", q.lock.Fence(), held.Fence(), q.c.Stats().FencingRaises)
			}
			held = q.lock
		}
		unlock(t, held)
		s.wantNoLocks()
	})
}

func TestCallsOfOneClientQueueUpInItAndOnlyTheFirstContends(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		c := s.open()
		held := mustLock(t, c, "key")
		var waiting []*queuer
		for range 50 {
			waiting = append(waiting, s.queue(c, "key"))
		}
		if entries := s.queues("key")[s.pilot("key")]; len(entries) != 1 {
			t.Errorf("%d entries in the queue: want one for the client", len(entries))
		}
		attempts := 0
		for _, m := range s.All {
			attempts = max(attempts, m.Commands()["SET"])
		}
		if attempts != 2 { // the holder's and the first waiter's
			t.Errorf("%d attempts reached a master: want 2", attempts)
		}
		within(t, soon, func() {
			for i, q := range waiting {
				unlock(t, held)
				if !q.has() {
					t.Fatalf("call %d was not woken", i)
				}
				held = q.lock
			}
		})
		unlock(t, held)
		s.wantClean()
	})
}

func TestAMessageThatIsLostCostsARetryDelayAtMost(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		held := mustLock(t, s.open(), "key")
		q := s.queue(s.open(), "key")
		// As if the release had deleted the keys and its message had been lost.
		s.do("DEL", "key")
		within(t, 250*time.Millisecond, func() { q.mustHave(t) })
		if err := held.Unlock(t.Context()); err == nil {
			t.Error("unlocked what another holds")
		}
		unlock(t, q.lock)
		s.wantClean()
	})
}

// A key that expires publishes nothing: the first who looks hands it over.
func TestAHoldersKeysThatExpireAreWaitedForExactly(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		for _, m := range s.All {
			_ = m.Set("key", "crashed", 3*time.Second)
		}
		began := time.Now()
		var wg sync.WaitGroup
		for range 4 {
			c := s.open()
			wg.Go(func() { // in any order: who tries all masters just then may overtake
				l, err := c.Lock(t.Context(), "key")
				if err != nil {
					t.Error(err)
					return
				}
				if d := time.Since(began); d < 3*time.Second || d > 3*time.Second+20*time.Millisecond {
					t.Errorf("acquired after %v", d)
				}
				_ = l.Unlock(t.Context())
			})
		}
		wg.Wait()
		s.wantClean()
	})
}

// A client that died is dropped from the queue when its turn comes.
func TestADeadWaiterIsPassedOverAtOnce(t *testing.T) {
	for name, opts := range map[string][]redlock.LockOption{"fair": {redlock.WithFairness()}, "not fair": nil} {
		t.Run(name, func(t *testing.T) {
			inSim(t, 5, func(t *testing.T, s *sim) { passedOver(t, s, opts...) })
		})
	}
}

func passedOver(t *testing.T, s *sim, opts ...redlock.LockOption) {
	held := mustLock(t, s.open(), "key")
	q := s.queue(s.open(), "key", opts...)
	pilot := s.pilot("key")
	for i := range 10 {
		s.Ask(pilot, "ZADD", queueKey("key"), i+1, fmt.Sprintf("dead-%d", i))
	}
	q.mustBeWoken(t, func() { unlock(t, held) })
	unlock(t, q.lock)
	// And one who comes when only the dead wait.
	s.do("ZADD", queueKey("key"), 1, "dead")
	within(t, soon, func() { unlock(t, mustLock(t, s.open(), "key", opts...)) })
}

// A client that is subscribed but does nothing, as one that is suspended, holds
// the others up for a retry delay at most.
func TestASilentWaiterIsPassedOverSoon(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		held := mustLock(t, s.open(), "key")
		q := s.queue(s.open(), "key")
		conn, err := s.All[s.pilot("key")].Dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		rc := redis.NewConn(conn, 0, 0)
		defer func() { _ = rc.Close() }()
		s.Ask(s.pilot("key"), "ZADD", queueKey("key"), 1, "suspended")
		if _, err := rc.Do("SUBSCRIBE", "redquorum:w:1:suspended"); err != nil {
			t.Fatal(err)
		}
		unlock(t, held)
		within(t, 750*time.Millisecond, func() { q.mustHave(t) })
		unlock(t, q.lock)
	})
}

// The pilot has a key that nobody holds: the others are a quorum.
func TestAStaleKeyOnThePilotDoesNotKeepWaitersOut(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		held := mustLock(t, s.open(), "key")
		q := s.queue(s.open(), "key")
		_ = s.All[s.pilot("key")].Set("key", "stale", time.Hour)
		unlock(t, held)
		within(t, 1250*time.Millisecond, func() { q.mustHave(t) })
		// Who has seen the key before knows what it is when it is woken.
		next := s.queue(s.open(), "key")
		time.Sleep(time.Second)
		next.mustBeWoken(t, func() { unlock(t, q.lock) })
		unlock(t, next.mustHave(t))
	})
}

// One process with many callers must not starve another with one.
func TestAProcessWithManyCallersSharesWithOneThatHasFew(t *testing.T) {
	t.Parallel()
	inSim(t, 5, func(t *testing.T, s *sim) {
		many, few := s.open(), s.open()
		var turns [2]atomic.Int64
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		var wg sync.WaitGroup
		for i, c := range []*redlock.Client{many, many, many, many, many, many, many, many, few} {
			wg.Go(func() {
				for ctx.Err() == nil {
					l, err := c.Lock(ctx, "key")
					if err != nil {
						return
					}
					time.Sleep(time.Millisecond)
					turns[i/8].Add(1)
					_ = l.Unlock(t.Context())
				}
			})
		}
		wg.Wait()
		if a, b := turns[0].Load(), turns[1].Load(); b*3 < a {
			t.Errorf("%d turns for eight callers of one client, %d for the one of another", a, b)
		}
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

func TestWithFairnessATryDoesNotOvertakeCallsOfItsOwnClient(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		c := s.open()
		held := mustLock(t, c, "key")
		q := s.queue(c, "key")
		_, err := c.TryLock(t.Context(), "key", redlock.WithFairness())
		wantExactly(t, err, redlock.ErrTaken)
		unlock(t, held)
		unlock(t, q.mustHave(t))
	})
}

func TestFairnessWithoutAPilotStillLocks(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		c := s.open()
		for i := range s.All[:2] {
			s.Freeze(i)
		}
		for range 5 {
			l := s.must(c.Lock(t.Context(), "key", redlock.WithFairness()))
			unlock(t, l)
		}
		s.Thaw(0, 1)
		s.wantClean()
	})
}
