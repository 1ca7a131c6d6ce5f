package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/rig"
	"github.com/redquorum/redquorum/internal/redistest"
)

const (
	euMasters = "redis://10.0.0.1,redis://10.0.0.2,redis://10.0.0.3"
	usMasters = "redis://10.0.1.1,redis://10.0.1.2,redis://10.0.1.3"
)

func TestCommandsThatTakeOneFleetRefuseSeveral(t *testing.T) {
	t.Parallel()
	two := []string{"--masters", "eu=" + euMasters, "--masters", "us=" + usMasters}
	const want = "redlock-demo: --masters names 2 fleets (eu, us): this command takes one; status and exec take several\n"
	config := rig.File(t, "masters = us="+usMasters+"\n# and\nmasters = eu="+euMasters+"\n")
	for _, command := range []string{"demo", "chaos", "locks", "release --yes k", "wait k", "init", "fleet close --to x"} {
		stdout, stderr, code := output(t, nil, append(strings.Fields(command), two...)...)
		if code != app.ExitUsage || stdout != "" || stderr != want {
			t.Errorf("%s: exit code %d, %q, %q", command, code, stdout, stderr)
		}
		if command == "chaos" { // which takes none of a file
			continue
		}
		stdout, stderr, code = output(t, nil, append(strings.Fields(command), "--config", config)...)
		if code != app.ExitUsage || stdout != "" || stderr != want {
			t.Errorf("%s --config: exit code %d, %q, %q", command, code, stdout, stderr)
		}
	}
}

// A file says the same as the flags, and is overruled by them as a whole.
func TestAFileOfSeveralFleetsSaysWhatTheFlagsSay(t *testing.T) {
	t.Parallel()
	_, eu := processes(t, 1, redistest.Config{})
	_, us := processes(t, 1, redistest.Config{})
	flags := []string{"--masters", "us=" + us, "--masters", "eu=" + eu}
	config := rig.File(t, "# of the test\nmasters = eu="+eu+"\n\n  masters=us = "+us+"\n")
	keys := []string{"a", "b", "c", "d", "e"}
	byFlags, stderr, code := output(t, nil, append(append([]string{"status", "--json"}, flags...), keys...)...)
	if code != 0 || stderr != "" {
		t.Fatalf("exit code %d, %q", code, stderr)
	}
	byFile, stderr, code := output(t, []string{app.ConfigVariable + "=" + config}, append([]string{"status", "--json"}, keys...)...)
	if code != 0 || stderr != "" {
		t.Fatalf("exit code %d, %q", code, stderr)
	}
	if a, b := keysOf(t, byFlags), keysOf(t, byFile); a != b || strings.Count(a, " ") != len(keys)+2 {
		t.Errorf("by flags %s, by the file %s", a, b)
	}
	for _, how := range []struct{ env, args []string }{
		{nil, []string{"--masters", us}},
		{[]string{app.MastersVariable + "=" + us}, nil},
	} {
		stdout, stderr, code := output(t, how.env, append([]string{"status", "--config", config, "k"}, how.args...)...)
		if code != 0 || stderr != "" || strings.Contains(stdout, "Fleet") || slices.ContainsFunc(strings.Split(eu, ","), func(url string) bool { return strings.Contains(stdout, strings.TrimPrefix(url, "redis://")) }) {
			t.Errorf("%q: exit code %d, %q\n%s", how, code, stderr, stdout)
		}
	}
}
