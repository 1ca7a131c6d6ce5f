package main

import (
	"strings"
	"testing"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/rig"
	"github.com/redquorum/redquorum/cmd/internal/status"
	"github.com/redquorum/redquorum/internal/redistest"
)

// keysOf is which keys a document in JSON has in which fleet.
func keysOf(t *testing.T, document string) string {
	t.Helper()
	var b strings.Builder
	for _, f := range rig.Parse[status.FleetsDocument](t, document).Fleets {
		b.WriteString(f.Name + ": ")
		for _, k := range f.Keys {
			b.WriteString(k.Key + " ")
		}
	}
	return b.String()
}

// A key that is held in another fleet than its own is somebody's mistake, which no other
// command would see.
func TestAKeyInTheWrongFleetIsSeen(t *testing.T) {
	t.Parallel()
	named := map[string]*redistest.Cluster{"eu": servers(t, 1), "us": servers(t, 1)}
	two := []string{"--masters", "eu=" + addresses(named["eu"]), "--masters", "us=" + addresses(named["us"])}
	shards := shardsOf(t, named)
	const key = "invoices"
	own := shards.Shard(key)
	other := map[string]string{"eu": "us", "us": "eu"}[own]
	for _, where := range []string{own, other} {
		l := mustLock(t, rig.Opened(t, named[where]), key)
		stdout, stderr, code := output(t, nil, append([]string{"status", key}, two...)...)
		if want := map[bool]int{true: 0, false: app.ExitFailed}[where == own]; code != want || stderr != "" || strings.Count(stdout, key+": ") != map[bool]int{true: 1, false: 2}[where == own] ||
			strings.Contains(stdout, `it belongs to fleet "`+own+`"`) != (where == other) {
			t.Errorf("held in %s: exit code %d, %q\n%s", where, code, stderr, stdout)
		}
		if err := l.Unlock(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if stdout, stderr, code := output(t, nil, append([]string{"status", key}, two...)...); code != 0 || stderr != "" {
		t.Errorf("free: exit code %d, %q\n%s", code, stderr, stdout)
	}
}

// Status holds no lock, so the library's default TTL is nothing to it.
func TestStatusTakesALongestTTLBelowTheDefault(t *testing.T) {
	t.Parallel()
	urls := rig.List(rig.Cluster(t, 3))
	if stdout, stderr, code := output(t, nil, "status", "--masters", urls, "--max-ttl", "20ms", "k"); code != 0 || stderr != "" {
		t.Errorf("exit code %d, %q\n%s", code, stderr, stdout)
	}
}
