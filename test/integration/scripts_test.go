package integration

import (
	"context"
	"testing"

	"github.com/redquorum/redquorum/redlock"
)

// Masters forget all scripts. The client sends each once in full to each master, and the operation
// still succeeds, with one vote and one token.
func TestAFlushOfTheScriptsCostsOneFallbackEach(t *testing.T) {
	p := startProcesses(t, five)
	c := p.open()
	ctx := context.Background()
	flush := func() {
		for i := range five {
			p.do(i, "SCRIPT", "FLUSH")
			p.do(i, "CONFIG", "RESETSTAT")
		}
	}
	wantEvals := func(what string, want int) {
		t.Helper()
		for i := range five {
			eventually(t, what+": fallbacks", func() bool { return p.calls(i, "eval") >= want })
			if n := p.calls(i, "eval"); n != want {
				t.Errorf("%s: master %d got %d EVAL, want %d", what, i, n, want)
			}
		}
	}

	flush()
	l := mustTry(t, c, "lock", redlock.WithLease(longTTL))
	eventually(t, "all have the key", func() bool { return p.holders("lock", l.Token()) == five })
	wantEvals("lock", 3) // the next look at the masters: the probe, and the scripts of the marker and the list
	if err := l.Extend(ctx); err != nil {
		t.Fatal(err)
	}
	wantEvals("the first extension", 4)
	for range 3 {
		if err := l.Extend(ctx); err != nil {
			t.Fatal(err)
		}
	}
	wantEvals("further extensions", 4)
	if err := l.Verify(ctx); err != nil {
		t.Fatal(err)
	}
	wantEvals("verify", 5)
	if n := p.holders("lock", l.Token()); n != five {
		t.Errorf("%d masters have the token", n)
	}
	mustUnlock(t, l)
	wantEvals("release", 6)
	p.wantFree("lock")

	for range 3 {
		l = mustTry(t, c, "lock", redlock.WithLease(longTTL))
		if err := l.Extend(ctx); err != nil {
			t.Fatal(err)
		}
		mustUnlock(t, l)
	}
	p.wantFree("lock")
	wantEvals("locking again", 6)

	// The rollback of a failed attempt falls back as well.
	flush()
	p.foreign("lock", strangersToken, 0, 1, 2)
	_, err := c.TryLock(ctx, "lock", redlock.WithTTL(longTTL))
	wantExactly(t, "TryLock", err, redlock.ErrTaken)
	eventually(t, "the others are rolled back", func() bool { return p.value(3, "lock") == "" && p.value(4, "lock") == "" })
	p.remove("lock")
}
