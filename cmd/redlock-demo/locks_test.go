//go:build unix

package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/locks"
	"github.com/redquorum/redquorum/cmd/internal/testutil"
	"github.com/redquorum/redquorum/redlock"
)

// listed returns the document of locks --json.
func listed(t *testing.T, want int, args ...string) locks.LocksDocument {
	t.Helper()
	d, code := document[locks.LocksDocument](t, nil, append([]string{"locks", "--json"}, args...)...)
	if code != want {
		t.Fatalf("exit code %d, want %d: %+v", code, want, d)
	}
	return d
}

func TestLocksAreSearchedInSmallSteps(t *testing.T) {
	t.Parallel()
	c := servers(t, 5)
	client := testutil.Opened(t, c)
	const count = 2000
	var keys []string
	for i := range count {
		keys = append(keys, fmt.Sprintf("k%04d", i))
	}
	for len(keys) > 0 {
		n := min(100, len(keys))
		if _, err := client.LockAll(t.Context(), keys[:n], redlock.WithTTL(time.Minute)); err != nil {
			t.Fatal(err)
		}
		keys = keys[n:]
	}
	// A minority may not have answered yet, and will in a moment.
	testutil.Eventually(t, "all masters have all keys", func() bool {
		for _, m := range c.Masters {
			if n, err := redis.Int(m.Do("DBSIZE")); err != nil || n <= count { // and the marker
				return false
			}
		}
		return true
	})
	do(t, c.Masters, "CONFIG", "RESETSTAT")
	d := listed(t, 0, "--masters", addresses(c))
	if len(d.Locks) != count || d.Held != count || !d.Complete {
		t.Errorf("%d locks are listed, %d are held", len(d.Locks), d.Held)
	}
	for i, l := range d.Locks { // a busy master may answer too late about one
		if l.Key != fmt.Sprintf("k%04d", i) || l.Verdict != "held" {
			t.Fatalf("%+v", l)
		}
	}
	for i, m := range d.Masters {
		stats, err := redis.String(c.Masters[i].Do("INFO", "commandstats"))
		if err != nil || !strings.Contains(stats, fmt.Sprintf("cmdstat_scan:calls=%d,", m.Steps)) || m.Steps < count/locks.StepKeys || m.Keys < count {
			t.Errorf("%+v, %v\n%s", m, err, stats)
		}
	}
	d = listed(t, app.ExitFailed, "--masters", addresses(c), "--for", "100ms") // less than the pauses take
	if d.Complete {
		t.Errorf("%+v", d.Masters)
	}
}
