package integration

import (
	"context"
	"testing"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

// What the tests of redlock-rb ask of a lock (leandromoreira/redlock-rb,
// spec/client_spec.rb). See docs/explanation/conformance.md.

// "(when extending) resets the TTL, rather than adding extra time to it", and
// "interprets lock time as milliseconds".
func TestAnExtensionResetsTheTTLAndAddsNothing(t *testing.T) {
	const ttl = 20 * time.Second
	p := startProcesses(t, 3)
	l := mustTry(t, p.open(), "lock", redlock.WithLease(ttl))
	want := func(when string) {
		t.Helper()
		eventually(t, when+": all have the key", func() bool { return p.holders("lock", l.Token()) == 3 })
		for i := range 3 {
			if ms := p.pttl(i, "lock"); ms > ttl.Milliseconds() || ms < (ttl-settleBound).Milliseconds() {
				t.Errorf("%s: master %d has it for %d ms, want %v at the most", when, i, ms, ttl)
			}
		}
	}
	want("locked")
	for range 3 {
		if err := l.Extend(context.Background()); err != nil {
			t.Fatal(err)
		}
		want("extended")
	}
	if left := l.Remaining(); left > ttl {
		t.Errorf("%v remaining of %v", left, ttl)
	}
	mustUnlock(t, l)
	p.wantFree("lock")
}

// "tries up to 'retry_count' + 1 times", "sleeps in between retries", "sleeps at
// least the specified retry_delay", "sleeps a maximum of retry_delay +
// retry_jitter". There the bounds are an option, here WithBackoff is.
func TestThePausesBetweenTriesAreWithinTheirBounds(t *testing.T) {
	const tries = 4
	p := startProcesses(t, 3)
	p.foreign("lock", strangersToken, 0, 1, 2)
	tried, trace := traceAttempts()
	c := p.open(trace)
	var err error
	took := timed(func() { _, err = c.Lock(context.Background(), "lock", redlock.WithTries(tries)) })
	wantExactly(t, "Lock", err, redlock.ErrTaken)
	if len(tried.tried) != tries || len(tried.pauses) != tries-1 {
		t.Errorf("%d attempts and %d pauses, want %d and one less", len(tried.tried), len(tried.pauses), tries)
	}
	sum := time.Duration(0)
	for _, d := range tried.pauses {
		sum += d
		if d < 50*time.Millisecond || d >= 250*time.Millisecond {
			t.Errorf("a pause of %v, want one in [50ms, 250ms)", d)
		}
	}
	if took < sum {
		t.Errorf("Lock took %v, less than its pauses of %v", took, sum)
	}
	p.remove("lock")
}

// "does not extend a non-existent lock" (extend_only_if_life). There is no
// counterpart to its opposite, which sets the value anew.
func TestAHoldThatIsNowhereCannotBeAdopted(t *testing.T) {
	p := startProcesses(t, 3)
	c := p.open()
	_, err := c.Adopt(context.Background(), "lock", "hello world")
	wantExactly(t, "Adopt", err, redlock.ErrNotHeld)
	if !p.free("lock") {
		t.Error("the key was set")
	}
}
