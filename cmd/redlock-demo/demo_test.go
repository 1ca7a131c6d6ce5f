package main

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/testutil"
)

// A sale is what demo --json prints, as far as it matters here.
type sale struct {
	Verdict, Error                         string
	Settings                               struct{ Masters string }
	Phases, Expectations, Skipped, Masters []any
}

// Not parallel to other tests: a master that they kill frees its port. If a master of this
// test got that port, their clients would write to it.
func TestMastersOfSomebodyElseAreNotStopped(t *testing.T) {
	masters, others := testutil.Cluster(t, 3), testutil.Cluster(t, 1)
	// The flag overrules the environment.
	stdout, stderr, code := output(t, []string{"REDLOCK_MASTERS=" + testutil.List(others)}, "--json", "--masters", testutil.List(masters))
	doc := testutil.Parse[sale](t, stdout)
	if code != 0 || stderr != "" || doc.Verdict != "passed" || doc.Settings.Masters != "given" || len(doc.Masters) != 3 {
		t.Fatalf("exit code %d, %q\n%s", code, stderr, stdout)
	}
	if len(doc.Skipped) != 1 || len(doc.Phases) != 2 || len(doc.Expectations) != 4 {
		t.Errorf("skipped %+v, %d phases, %d expectations", doc.Skipped, len(doc.Phases), len(doc.Expectations))
	}
	if n := len(others.Masters()[0].Commands()); n != 0 {
		t.Error("the masters of the environment were asked")
	}
	for _, m := range masters.Masters() {
		if keys := leftOn(m); len(keys) > 0 || !m.Up() {
			t.Errorf("%s: up %v, keys %q", m.Addr(), m.Up(), keys)
		}
	}
}

func TestAFailedExpectationIsExitCodeOne(t *testing.T) {
	t.Parallel()
	c := testutil.Cluster(t, 3)
	const others = "somebody else's"
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { // masters that forget every lock at once
		for {
			select {
			case <-done:
				return
			default:
				for _, m := range c.Masters() {
					for _, key := range m.Keys() {
						if key == "redquorum:marker" { // without it, a master would look emptied
							continue
						}
						if value, ok := m.Get(key); ok && value != others {
							_ = m.Set(key, others, time.Millisecond) // once, or it would never be free
						}
					}
				}
			}
		}
	})
	defer wg.Wait()
	defer close(done)
	stdout, stderr, code := output(t, nil, "--masters", testutil.List(c))
	// Which expectation fails depends on timing: two buyers are at the stock at once, or
	// a key that was set here is left behind.
	if code != app.ExitFailed || !strings.Contains(stdout, "✗ FAILED ") || !strings.Contains(stderr, "expectations did not hold\n") {
		t.Errorf("exit code %d, %q\n%s", code, stderr, stdout)
	}
}
