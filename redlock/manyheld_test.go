package redlock_test

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

func lockMany(t *testing.T, c *redlock.Client, n int, opts ...redlock.LockOption) []*redlock.Lock {
	t.Helper()
	locks := make([]*redlock.Lock, n)
	for i := range locks {
		locks[i] = mustLock(t, c, fmt.Sprint("key-", i), opts...)
	}
	return locks
}

// After a machine has slept, all renewals are overdue. They go out in portions that fit into the
// queues.
func TestManyRenewalsAtOnceDoNotOverflowTheQueues(t *testing.T) {
	t.Parallel()
	inSim(t, 5, func(t *testing.T, s *sim) {
		clock := new(shiftedClock)
		var renewed, failed atomic.Int64
		trace := redlock.WithTrace(&redlock.Trace{Renewal: func(i redlock.ExtendInfo) {
			if i.Err != nil {
				failed.Add(1)
			} else {
				renewed.Add(1)
			}
		}})
		// There is no guard, because its checks are scripts as renewals are.
		c := s.open(trace, redlock.WithClock(clock), redlock.WithGuard(redlock.GuardOff), redlock.WithPool(
			pool.WithDialer(s.Dialer()), pool.WithQueueLimit(64)))
		locks := lockMany(t, c, 500)
		clock.sleep(7 * time.Second)
		time.Sleep(2 * time.Second) // they had 2.8 s left
		for _, l := range locks {
			if l.Remaining() == 0 {
				t.Fatalf("%s: %v", l.Key(), context.Cause(l.Context()))
			}
		}
		if n := renewed.Load(); n < 500 || failed.Load() != 0 {
			t.Errorf("%d renewals, %d failed", n, failed.Load())
		}
		for _, m := range s.All {
			if n := m.Commands()["EVALSHA"]; n > 700 {
				t.Errorf("a master was asked %d times", n)
			}
		}
	})
}

// Close releases many locks, in portions too, even with a frozen master.
func TestCloseReleasesManyLocks(t *testing.T) {
	t.Parallel()
	inSim(t, 5, func(t *testing.T, s *sim) {
		c := s.open(redlock.WithPool(pool.WithDialer(s.Dialer()), pool.WithQueueLimit(64)))
		lockMany(t, c, 500)
		within(t, time.Second, func() { _ = c.Close() })
		s.wantClean()

		c = s.open(redlock.WithPool(pool.WithDialer(s.Dialer()), pool.WithQueueLimit(64)))
		lockMany(t, c, 500)
		s.Freeze(4) // the portions wait for it until it counts as down
		within(t, 2*time.Second, func() { _ = c.Close() })
		for i, m := range s.All[:4] {
			if keys := m.Keys(); len(keys) != 2 { // the marker and the list
				t.Errorf("master %d has %d keys", i, len(keys)-2)
			}
		}
		s.Thaw(4)

		s.All[4].FlushAll()
		c = s.open(redlock.WithPool(pool.WithDialer(s.Dialer()), pool.WithQueueLimit(64)))
		lockMany(t, c, 500)
		s.Freeze(2, 3, 4)
		// Nobody answers: a portion of 16 waits for the timeout, until the masters count as down.
		within(t, 3*time.Second, func() { _ = c.Close() })
		s.Thaw(2, 3, 4)
	})
}

// Masters may need longer for many releases than for one. While they go on answering, Close drops
// nothing that it has to send them.
func TestCloseWaitsForMastersThatGoOnAnswering(t *testing.T) {
	t.Parallel()
	inSim(t, 3, func(t *testing.T, s *sim) {
		busy := &atomic.Bool{}
		dial := s.Dialer()
		c := s.open(redlock.WithPool(pool.WithDialer(func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := dial(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return &busyConn{Conn: conn, busy: busy}, nil
		})))
		lockMany(t, c, 1000)
		busy.Store(true)
		within(t, 2*time.Second, func() { _ = c.Close() })
		busy.Store(false)
		s.wantClean()
	})
}

// A busyConn leads to a master that takes 100 kB a second while it is busy.
type busyConn struct {
	net.Conn
	busy *atomic.Bool
}

func (c *busyConn) Write(b []byte) (n int, err error) {
	for len(b) > 0 {
		part := b[:min(len(b), 2000)]
		if c.busy.Load() {
			time.Sleep(time.Duration(len(part)) * 10 * time.Microsecond)
		}
		m, err := c.Conn.Write(part)
		if n += m; err != nil {
			return n, err
		}
		b = b[m:]
	}
	return n, nil
}

// One goroutine renews all locks.
func TestManyHeldLocksAddNoGoroutines(t *testing.T) {
	inSim(t, 3, func(t *testing.T, s *sim) {
		c := s.open()
		one := mustLock(t, c, "one")
		before := goroutines()
		locks := lockMany(t, c, 300)
		if n := goroutines(); n != before {
			t.Errorf("%d goroutines with one lock, %d with 301", before, n)
		}
		for _, l := range append(locks, one) {
			unlock(t, l)
		}
		s.wantClean()
	})
}

func goroutines() int {
	synctest.Wait()
	return runtime.NumGoroutine()
}
