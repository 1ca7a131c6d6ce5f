package redlock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/redlock"
)

// realMasters are redis-servers whose clocks can be moved.
type realMasters struct {
	t       *testing.T
	servers []*redistest.Server
	urls    []string
}

func startReal(t *testing.T) *realMasters {
	t.Helper()
	if err := redistest.ClockAvailable(); err != nil {
		t.Skipf("the clocks of redis-servers cannot be moved here: %v", err)
	}
	m := &realMasters{t: t, servers: redistest.Start(t, 5, redistest.Config{MovableClock: true}).Masters}
	for _, s := range m.servers {
		m.urls = append(m.urls, s.URL())
	}
	return m
}

// open makes a client that is connected to all of them.
func (m *realMasters) open(opts ...redlock.Option) *redlock.Client {
	m.t.Helper()
	c, err := redlock.Open(m.urls, append(opts, redlock.WithGuard(redlock.GuardOff))...)
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { _ = c.Close() })
	m.eventually("all are connected", func() bool {
		for _, r := range c.Masters(m.t.Context()) {
			if !r.Connected {
				return false
			}
		}
		return true
	})
	return c
}

func (m *realMasters) eventually(what string, cond func() bool) {
	m.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !cond(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			m.t.Fatalf("not in time: %s", what)
		}
	}
}

func (m *realMasters) turn(off time.Duration, masters ...int) {
	m.t.Helper()
	for _, i := range masters {
		if err := m.servers[i].SetClock(off); err != nil {
			m.t.Fatal(err)
		}
	}
}

// gone reports whether a master has no such key. DBSIZE of a key that expired
// tells when Redis has deleted it by itself.
func (m *realMasters) gone(i int, key string) bool {
	m.t.Helper()
	n, err := m.servers[i].Do("EXISTS", key)
	if err != nil {
		m.t.Fatal(err)
	}
	return n == int64(0)
}

// An offsetClock is this machine's with a wall clock that is off.
type offsetClock struct{ off time.Duration }

func (c offsetClock) Now() drift.Instant {
	now := time.Now()
	return drift.AtWithoutBoot(now.Sub(processStart), now.Add(c.off))
}

var processStart = time.Now()

func TestRealClocksThatAreOffAreRefused(t *testing.T) {
	m := startReal(t)
	c := m.open(redlock.WithStrict(), redlock.WithFencing())
	for _, off := range []time.Duration{time.Minute, -time.Hour} {
		m.turn(off, 0, 1)
		l, err := c.Lock(t.Context(), "key")
		if err != nil {
			t.Fatalf("two clocks are %v off: %v", off, err)
		}
		if err := l.Extend(t.Context()); err != nil {
			t.Errorf("two clocks are %v off: %v", off, err)
		}
		if !m.gone(0, "key") || !m.gone(1, "key") {
			t.Error("something was written where the clock is off")
		}
		_ = l.Unlock(t.Context())
		m.turn(off, 2)
		_, err = c.TryLock(t.Context(), "key")
		wantReallyOff(t, err, -off)
		m.turn(0, 0, 1, 2)
	}
	for _, off := range []time.Duration{time.Hour, -time.Hour} {
		_, err := m.open(redlock.WithStrict(), redlock.WithClock(offsetClock{off})).TryLock(t.Context(), "key")
		wantReallyOff(t, err, off)
	}
}

// wantReallyOff fails unless err says that the client's clock is off by so much,
// as a quorum of masters has it.
func wantReallyOff(t *testing.T, err error, off time.Duration) {
	t.Helper()
	clock, ok := errors.AsType[*redlock.ClockError](err)
	if !errors.Is(err, redlock.ErrNoQuorum) || !ok || (clock.Off-off).Abs() > 5*time.Second || clock.Masters < 3 {
		t.Errorf("%v: want this client's clock to be %v off", err, off)
	}
}

func TestARealClockThatJumpsAndIsSetRightLetsNobodyIn(t *testing.T) {
	m := startReal(t)
	a, b := m.open(redlock.WithStrict()), m.open(redlock.WithStrict())
	const ttl = 30 * time.Second // of a lease: an extension would set the lock again
	held, err := a.Lock(t.Context(), "key", redlock.WithLease(ttl))
	if err != nil {
		t.Fatal(err)
	}
	m.eventually("every master has it", func() bool {
		for i := range m.servers {
			if m.gone(i, "key") {
				return false
			}
		}
		return true
	})
	m.turn(time.Minute, 0, 1, 2)
	time.Sleep(300 * time.Millisecond) // the fault itself
	m.turn(0, 0, 1, 2)
	for _, i := range []int{0, 1, 2} {
		if !m.gone(i, "key") {
			t.Fatalf("the jump has not deleted the lock on master %d", i)
		}
	}
	for range 5 {
		_, err = b.TryLock(t.Context(), "key")
		leased := false
		for _, e := range nodes(err) {
			h, ok := errors.AsType[*redlock.HeldError](e)
			leased = leased || ok && h.Type == "lease" && h.Token == held.Token()
		}
		if !errors.Is(err, redlock.ErrTaken) || !leased {
			t.Errorf("%v: want that it is leased", err)
		}
	}
	if held.Remaining() == 0 {
		t.Error("the hold is over before that showed anything")
	}
	_ = held.Unlock(context.Background())
	m.eventually("the release lets the other in", func() bool {
		l, err := b.TryLock(t.Context(), "key")
		if err != nil {
			return false
		}
		return l.Unlock(t.Context()) == nil
	})
}
