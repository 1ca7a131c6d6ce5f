package integration

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

// What the tests of node-redlock ask of a lock (mike-marcacci/node-redlock,
// src/single.test.ts and src/multi.test.ts). See docs/explanation/conformance.md.

// An attempts records what a call tried, and how long it paused in between.
type attempts struct {
	mu     sync.Mutex // guards what follows
	tried  []redlock.AttemptInfo
	pauses []time.Duration
}

func traceAttempts() (*attempts, redlock.Option) {
	a := &attempts{}
	return a, redlock.WithTrace(&redlock.Trace{
		Attempt: func(info redlock.AttemptInfo) {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.tried = append(a.tried, info)
		},
		Retry: func(info redlock.RetryInfo) {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.pauses = append(a.pauses, info.Delay)
		},
	})
}

// eleven is what node-redlock's ten retries come to.
const eleven = 11

// elevenTries are that many, without the pauses of real life.
var elevenTries = []redlock.LockOption{
	redlock.WithTries(eleven),
	redlock.WithBackoff(func(int) time.Duration { return time.Millisecond }),
}

// wantEleven asks for exactly so many attempts, each of which failed for the
// kind, and every cause of which is as it should be.
func (a *attempts) wantEleven(t *testing.T, kind error, right func(cause error) bool) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.tried) != eleven || len(a.pauses) != eleven-1 {
		t.Errorf("%d attempts with %d pauses, want %d with one less", len(a.tried), len(a.pauses), eleven)
	}
	for i, info := range a.tried {
		wantExactly(t, "an attempt", info.Err, kind)
		if info.Attempt != i+1 || info.OK >= quorumError(t, info.Err).Need {
			t.Errorf("attempt %d: called the %d-th, with %d masters that agreed", i+1, info.Attempt, info.OK)
		}
		named := causes(t, info.Err)
		if len(named) == 0 {
			t.Errorf("attempt %d names no master: %v", i+1, info.Err)
		}
		for master, cause := range named {
			if !right(cause) && !errors.Is(cause, redlock.ErrNotAwaited) {
				t.Errorf("attempt %d: master %s: %v", i+1, master, cause)
			}
		}
	}
}

func isHeld(cause error) bool {
	_, ok := errors.AsType[*redlock.HeldError](cause)
	return ok
}

// single.test.ts, "locks fail when redis is unreachable": as many attempts as
// configured, each with the reason for which no master answered.
func TestUnreachableMastersAreTriedExactlyAsOftenAsConfigured(t *testing.T) {
	p := startProcesses(t, 3)
	tried, trace := traceAttempts()
	c := p.open(reconnectSoon(), trace)
	p.kill(0, 1, 2)
	awaitRefused(t, c, 0, 1, 2)
	_, err := c.Lock(context.Background(), "b", elevenTries...)
	wantExactly(t, "Lock", err, redlock.ErrNoQuorum)
	tried.wantEleven(t, redlock.ErrNoQuorum, func(cause error) bool { return errors.Is(cause, pool.ErrDown) })
}

// single.test.ts, "individual locks are exclusive".
func TestATakenLockIsTriedExactlyAsOftenAsConfigured(t *testing.T) {
	p := startProcesses(t, 3)
	l := mustTry(t, p.open(), "c", redlock.WithTTL(longTTL))
	tried, trace := traceAttempts()
	_, err := p.open(trace).Lock(context.Background(), "c", elevenTries...)
	wantExactly(t, "Lock", err, redlock.ErrTaken)
	tried.wantEleven(t, redlock.ErrTaken, isHeld)
	if n := p.holders("c", l.Token()); n != 3 {
		t.Errorf("after all that %d masters have the holder's token", n)
	}
	mustUnlock(t, l)
	p.wantFree("c")
}

// single.test.ts, "overlapping multi-locks are exclusive": the set that is
// refused takes nothing, not for a moment.
func TestOverlappingSetsOnRealMastersAreExclusive(t *testing.T) {
	p := startProcesses(t, 3)
	ctx := context.Background()
	l, err := p.open().TryLockAll(ctx, []string{"c1", "c2"}, redlock.WithTTL(longTTL))
	if err != nil {
		t.Fatal(err)
	}
	for _, set := range [][]string{{"c2", "c3"}, {"c0", "c1"}} {
		tried, trace := traceAttempts()
		_, err = p.open(trace).LockAll(ctx, set, elevenTries...)
		wantExactly(t, "LockAll", err, redlock.ErrTaken)
		tried.wantEleven(t, redlock.ErrTaken, isHeld)
	}
	for i := range 3 {
		for key, want := range map[string]string{"c0": "", "c1": l.Token(), "c2": l.Token(), "c3": ""} {
			if v := p.value(i, key); v != want {
				t.Errorf("master %d: %s is %q, want %q", i, key, v, want)
			}
		}
	}
	mustUnlock(t, l)
	for _, key := range l.Keys() {
		p.wantFree(key)
	}
}

// multi.test.ts, "succeeds when a minority of clients fail": somebody's key
// without an expiry, on one of three.
func TestAForeignKeyOfAMinorityIsNeverTouched(t *testing.T) {
	const key = "b"
	p := startProcesses(t, 3)
	p.do(2, "SET", key, "other")
	untouched := func(when string) {
		t.Helper()
		if v, ms := p.value(2, key), p.pttl(2, key); v != "other" || ms != -1 {
			t.Errorf("%s: the foreign key is %q and has %d ms left", when, v, ms)
		}
	}
	l := mustTry(t, p.open(), key, redlock.WithLease(30*time.Second))
	untouched("held")
	for i := range 2 {
		p.do(i, "PEXPIRE", key, 10_000)
	}
	if err := l.Extend(context.Background()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "both are prolonged", func() bool { return p.pttl(0, key) > 20_000 && p.pttl(1, key) > 20_000 })
	untouched("extended")
	mustUnlock(t, l)
	eventually(t, "both are free", func() bool { return p.pttl(0, key) == -2 && p.pttl(1, key) == -2 })
	untouched("unlocked")
	p.do(2, "DEL", key)
}

// multi.test.ts, "fails when a majority of clients fail".
func TestForeignKeysOfAMajorityKeepEverybodyOut(t *testing.T) {
	const key = "c"
	p := startProcesses(t, 3)
	p.do(1, "SET", key, "other1")
	p.do(2, "SET", key, "other2")
	tried, trace := traceAttempts()
	_, err := p.open(trace).Lock(context.Background(), key, elevenTries...)
	wantExactly(t, "Lock", err, redlock.ErrTaken)
	tried.wantEleven(t, redlock.ErrTaken, isHeld)
	eventually(t, "the first is free again", func() bool { return p.pttl(0, key) == -2 })
	if one, two := p.value(1, key), p.value(2, key); one != "other1" || two != "other2" {
		t.Errorf("the foreign keys are %q and %q", one, two)
	}
	p.remove(key)
}

// single.test.ts, "the `using` helper acquires, extends, and releases locks", and
// "is exclusive": for longer than the TTL, with one token, and another one the
// next time.
func TestDoOutlivesTheTTLUnderOneToken(t *testing.T) {
	const ttl = 900 * time.Millisecond
	p := startProcesses(t, 3)
	renewed, trace := traceRenewals()
	c := p.open(trace, redlock.WithTTL(ttl))
	var tokens []string
	for range 2 {
		err := c.Do(context.Background(), "y", func(ctx context.Context) error {
			l, _ := redlock.FromContext(ctx)
			tokens = append(tokens, l.Token())
			renewed.awaitPast(t, "y", ttl)
			if n := p.holders("y", l.Token()); n < 2 {
				t.Errorf("%d masters have the token", n)
			}
			return ctx.Err()
		})
		if err != nil {
			t.Fatal(err)
		}
		p.wantFree("y")
	}
	if tokens[0] == tokens[1] {
		t.Errorf("two holds had the same token %q", tokens[0])
	}
}
