package integration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/internal/acl"
	"github.com/redquorum/redquorum/redlock"
)

// mustRead acquires for reading in one attempt.
func mustRead(t *testing.T, c *redlock.Client, key string, opts ...redlock.LockOption) *redlock.Lock {
	t.Helper()
	l, err := c.RWMutex(key).TryRLock(context.Background(), opts...)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// readers lists the readers at a key of a master. last and expires are when the last of
// them and the key expire, in ms since 1970.
func (m *masters) readers(i int, key string) (tokens []string, last, expires int64) {
	m.t.Helper()
	if m.do(i, "TYPE", key) != "zset" {
		return nil, 0, 0
	}
	pairs, err := redis.Strings(m.command(i, "ZRANGE", key, 0, -1, "WITHSCORES"))
	if err != nil {
		m.t.Fatal(err)
	}
	for n := 0; n < len(pairs); n += 2 {
		tokens = append(tokens, pairs[n])
		if _, err := fmt.Sscan(pairs[n+1], &last); err != nil {
			m.t.Fatalf("a score of %q: %v", pairs[n+1], err)
		}
	}
	return tokens, last, m.expires(i, key)
}

func (m *masters) reading(key, token string) (n int) {
	m.t.Helper()
	m.each(func(i int) {
		if tokens, _, _ := m.readers(i, key); slices.Contains(tokens, token) {
			n++
		}
	})
	return n
}

// wantExpiry fails unless every set of readers expires with the last of them,
// to the millisecond.
func (p *processes) wantExpiry(key string) {
	p.t.Helper()
	p.each(func(i int) {
		if tokens, last, expires := p.readers(i, key); last != expires {
			p.t.Errorf("master %d: the last of %q expires at %d, the key at %d", i, tokens, last, expires)
		}
	})
}

// A read-write lock's whole life on real masters: what miniredis does not show
// is how they print instants and when they expire.
func TestReadersAndWritersOnRealMasters(t *testing.T) {
	p := startProcesses(t, five)
	c, other := p.open(), p.open()
	ctx, cancel := context.WithTimeout(context.Background(), settleBound)
	defer cancel()
	a := mustRead(t, c, "lock", redlock.WithTTL(longTTL/2))
	b := mustRead(t, other, "lock", redlock.WithTTL(longTTL))
	eventually(t, "all have both", func() bool { return p.reading("lock", a.Token()) == five && p.reading("lock", b.Token()) == five })
	p.wantExpiry("lock")
	if err := errors.Join(a.Extend(ctx), a.Verify(ctx), b.Extend(ctx), b.Verify(ctx)); err != nil {
		t.Error(err)
	}
	p.wantExpiry("lock")
	eventually(t, "a writer is told of the readers", func() bool {
		_, err := c.RWMutex("lock").TryLock(ctx)
		wantExactly(t, "TryLock beside readers", err, redlock.ErrTaken)
		h, ok := errors.AsType[*redlock.HeldError](err)
		return ok && h.Readers == 2 && h.TTL > longTTL/2
	})
	if reply := p.do(0, "SET", "lock", "foreign", "NX", "PX", 1000); reply != nil {
		t.Errorf("SET NX beside readers: %v", reply)
	}
	mustUnlock(t, b)
	eventually(t, "the longer reader is out", func() bool { return p.reading("lock", b.Token()) == 0 })
	p.wantExpiry("lock")
	mustUnlock(t, a)
	p.wantFree("lock")

	w, err := c.RWMutex("lock").Lock(ctx, redlock.WithTTL(longTTL))
	if err != nil {
		t.Fatal(err)
	}
	// First: a reader that comes to a master before the writer has its vote.
	eventually(t, "all have the writer", func() bool { return p.holders("lock", w.Token()) == five })
	_, err = other.RWMutex("lock").TryRLock(ctx)
	wantExactly(t, "TryRLock beside a writer", err, redlock.ErrTaken)
	if err := w.Downgrade(ctx); err != nil {
		t.Fatal(err)
	}
	eventually(t, "all have the reader", func() bool { return p.reading("lock", w.Token()) == five })
	p.wantExpiry("lock")
	r := mustRead(t, other, "lock")
	if err := errors.Join(w.Verify(ctx), r.Verify(ctx), w.Extend(ctx)); err != nil {
		t.Error(err)
	}
	mustUnlock(t, w)
	mustUnlock(t, r)
	p.wantFree("lock")

	// A waiting writer, by its own scripts.
	r = mustRead(t, c, "lock")
	got := make(chan error, 1)
	go func() {
		w, err := other.RWMutex("lock").Lock(ctx)
		if err == nil {
			err = w.Unlock(ctx)
		}
		got <- err
	}()
	eventually(t, "the writer keeps readers out", func() bool {
		early, err := c.RWMutex("lock").TryRLock(ctx)
		if err == nil {
			mustUnlock(t, early)
		}
		h, ok := errors.AsType[*redlock.HeldError](err)
		return ok && h.Type == "intent"
	})
	mustUnlock(t, r)
	if err := <-got; err != nil {
		t.Error(err)
	}
	p.wantFree("redquorum:intent:1:lock")
	p.wantFree("lock")

	// A reader that crashed is out when its TTL has passed, by the masters' clocks.
	if _, err := mustRead(t, c, "lock", redlock.WithTTL(200*time.Millisecond)).HandOver(); err != nil { // and nobody takes it
		t.Fatal(err)
	}
	if w, err = other.RWMutex("lock").Lock(ctx); err != nil {
		t.Fatal(err)
	}
	mustUnlock(t, w)
	p.wantFree("lock")
}

// Without the permissions for queues readers get in and out as with them. The last one
// looks whether anybody waits, in vain: nothing else is refused.
func TestAUserOfReadWriteLocksNeedsFewPermissions(t *testing.T) {
	p := startConfigured(t, locker("~lock* resetchannels -@all "+permitted(acl.Locks, acl.Told, acl.Readers, acl.Guard, acl.Handshake)), five)
	c := p.open(redlock.WithTTL(longTTL))
	ctx := context.Background()
	r := mustRead(t, c, "lock")
	_, err := c.RWMutex("lock").Lock(ctx, redlock.WithTries(2)) // notes an intent
	wantExactly(t, "Lock beside a reader", err, redlock.ErrTaken)
	if err := errors.Join(r.Extend(ctx), r.Verify(ctx)); err != nil {
		t.Error(err)
	}
	mustUnlock(t, r)
	p.wantFree("lock")
	w := mustTry(t, c, "lock")
	if err := w.Downgrade(ctx); err != nil {
		t.Error(err)
	}
	mustUnlock(t, w)
	p.wantFree("lock")
	p.wantOnlyQueuesRefused()
}

// wantOnlyQueuesRefused fails if something was refused that does not serve waiting.
func (m *masters) wantOnlyQueuesRefused() {
	m.t.Helper()
	m.each(func(i int) {
		for _, entry := range m.refused(i) {
			pairs, err := redis.Values(entry, nil)
			if err != nil {
				m.t.Fatal(err)
			}
			facts := make(map[string]string)
			for k := 0; k+1 < len(pairs); k += 2 {
				facts[fmt.Sprintf("%s", pairs[k])] = fmt.Sprintf("%s", pairs[k+1])
			}
			if facts["reason"] == "command" && slices.Contains([]string{"mget", "zrangebyscore", "zrevrangebyscore"}, facts["object"]) {
				continue // the guard's probe tries what other sorts of locks need
			}
			if facts["reason"] != "key" || !strings.HasPrefix(facts["object"], "redquorum:q:1:") {
				m.t.Errorf("master %d refused to the user: %q", i, facts)
			}
		}
	})
}

// A user who may not write sorted sets keeps the writer's lock when it asks for
// a downgrade.
func TestADowngradeThatIsForbiddenLosesNothing(t *testing.T) {
	p := startConfigured(t, locker("~lock* resetchannels -@all "+permitted(acl.Locks, acl.Told, acl.Readers, acl.Guard, acl.Handshake)+" -zadd"), five)
	c := p.open(redlock.WithTTL(longTTL))
	w := mustTry(t, c, "lock")
	eventually(t, "all have the writer", func() bool { return p.holders("lock", w.Token()) == five })
	wantExactly(t, "Downgrade", w.Downgrade(context.Background()), redlock.ErrNoQuorum)
	if n := p.holders("lock", w.Token()); n != five {
		t.Errorf("%d masters have the token", n)
	}
	mustUnlock(t, w)
	p.wantFree("lock")
}
