package integration

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"time"

	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

// closeBound is more than Close may take: the command timeout, plus the validity of locks whose Do
// still runs.
const closeBound = 5 * time.Second

// patience is how long most clients wait for one master. The library's own 50 to 250 ms are for
// masters of a fleet. The masters of a test share one machine with each other, with the race
// detector and with whatever else runs there.
const patience = 5 * time.Second

// reconnectSoon keeps the pauses between dials short, so that clients soon find a master that a
// test starts again.
func reconnectSoon() redlock.Option {
	return redlock.WithPool(pool.WithBackoff(time.Millisecond, 20*time.Millisecond))
}

// open makes a client that is patient and connected to every master.
func (m *masters) open(opts ...redlock.Option) *redlock.Client {
	m.t.Helper()
	return m.awaitAll(m.openCold(append(m.level(), opts...)...))
}

// openBrisk makes one with the library's own timeouts, for tests that depend on them.
func (m *masters) openBrisk(opts ...redlock.Option) *redlock.Client {
	m.t.Helper()
	return m.awaitAll(openURLs(m.t, m.urls, append(m.level(), opts...)...))
}

// level is the guard's level. The default one requires that all masters are up when the
// first client comes, so that the fleet is declared. It also requires that the test needs
// the vote of no master that was restarted or emptied.
func (m *masters) level() []redlock.Option {
	if m.trusting {
		return nil
	}
	return []redlock.Option{redlock.WithGuard(redlock.GuardStandard)}
}

func (m *masters) awaitAll(c *redlock.Client) *redlock.Client {
	m.t.Helper()
	ready(m.t, c)
	return c
}

// openCold makes a client that is patient, and does not wait for any master.
func (m *masters) openCold(opts ...redlock.Option) *redlock.Client {
	m.t.Helper()
	return openURLs(m.t, m.urls, append([]redlock.Option{redlock.WithPool(pool.WithCommandTimeout(patience))}, opts...)...)
}

// openURLs makes a client without a guard, unless the options say otherwise. The test closes it at
// its end at the latest.
func openURLs(t *testing.T, urls []string, opts ...redlock.Option) *redlock.Client {
	t.Helper()
	c, err := redlock.Open(urls, append([]redlock.Option{redlock.WithGuard(redlock.GuardOff)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeClient(t, c) })
	return c
}

// closeClient closes a client and makes sure that it is closed.
func closeClient(t *testing.T, c *redlock.Client) {
	t.Helper()
	var err error
	if took := timed(func() { err = c.Close() }); took > closeBound {
		t.Errorf("Close took %v, want less than %v", took, closeBound)
	}
	if err != nil {
		t.Errorf("Close: %v", err)
	}
	_, err = c.TryLock(context.Background(), "any")
	wantExactly(t, "TryLock on a closed client", err, redlock.ErrClosed)
}

// awaitConnected waits until a client has found masters again.
func awaitConnected(t *testing.T, c *redlock.Client, which ...int) {
	t.Helper()
	for _, i := range which {
		eventually(t, "a master is connected again", func() bool {
			return c.Masters()[i].Connected
		})
	}
}

// awaitRefused waits until a client has found out that masters are down: calls
// for them fail at once from then on.
func awaitRefused(t *testing.T, c *redlock.Client, which ...int) {
	t.Helper()
	for _, i := range which {
		eventually(t, "a master is known to be down", func() bool {
			r := c.Masters()[i]
			return !r.Connected && errors.Is(r.Err, syscall.ECONNREFUSED)
		})
	}
}

// mustTry takes a lock that is free.
func mustTry(t *testing.T, c *redlock.Client, key string, opts ...redlock.LockOption) *redlock.Lock {
	t.Helper()
	l, err := c.TryLock(context.Background(), key, opts...)
	if err != nil {
		t.Fatalf("the lock is free: %v", err)
	}
	return l
}

// mustLock acquires a free lock for a client with the library's own timeouts. It waits, because on
// a busy machine masters are late now and then.
func mustLock(t *testing.T, c *redlock.Client, key string, opts ...redlock.LockOption) *redlock.Lock {
	t.Helper()
	l, err := c.Lock(context.Background(), key, opts...)
	if err != nil {
		t.Fatalf("the lock is free: %v", err)
	}
	return l
}

// mustUnlock releases a lock that is held.
func mustUnlock(t *testing.T, l *redlock.Lock) {
	t.Helper()
	if err := l.Unlock(context.Background()); err != nil {
		t.Fatalf("the lock is held: %v", err)
	}
}
