package main

import (
	"strings"
	"testing"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/rig"
	"github.com/redquorum/redquorum/internal/redistest"
)

func TestAConfigurationFileNamesTheMasters(t *testing.T) {
	t.Parallel()
	c, _ := processes(t, 3, redistest.Config{Password: "secret"})
	var urls []string
	for _, m := range c.Masters {
		urls = append(urls, "redis://"+m.Addr())
	}
	config := rig.File(t, "# of the test\n\nmasters = "+strings.Join(urls, ",")+"\npassword-file="+rig.File(t, "secret\n")+"\n max-ttl = 30s \n")
	stdout, stderr, code := output(t, nil, "status", "--config", config, "k")
	if code != 0 || stderr != "" || !strings.Contains(stdout, "\nk: free on 3 of 3\n") {
		t.Errorf("exit code %d, %q, %q", code, stdout, stderr)
	}

	fromVariable, _, code := output(t, []string{app.ConfigVariable + "=" + config}, "status", "k")
	if code != 0 || !strings.Contains(fromVariable, "\nk: free on 3 of 3\n") {
		t.Errorf("by %s: exit code %d, %q", app.ConfigVariable, code, fromVariable)
	}
	_, stderr, code = output(t, []string{app.ConfigVariable + "=/no/such/file"}, "status", "k")
	if code != app.ExitUsage || stderr != "redlock-demo: "+app.ConfigVariable+" /no/such/file: open /no/such/file: no such file or directory\n" {
		t.Errorf("by %s: exit code %d, %q", app.ConfigVariable, code, stderr)
	}

	other := "redis://" + rig.Cluster(t, 1).Masters()[0].Addr()
	for _, how := range []struct{ env, args []string }{
		{nil, []string{"--masters", other, "--password-file", rig.File(t, "x")}},
		{[]string{app.MastersVariable + "=" + other}, []string{"--password-file", rig.File(t, "x")}},
	} {
		stdout, _, _ := output(t, how.env, append([]string{"status", "--config", config, "k"}, how.args...)...)
		if !strings.Contains(stdout, other[len("redis://"):]) || strings.Contains(stdout, c.Masters[0].Addr()) {
			t.Errorf("%q %q: the file overrules: %q", how.env, how.args, stdout)
		}
	}

	stdout, stderr, code = output(t, nil, "chaos", "--config", config, "--for", "2s", "--ttl", "5s", "--json")
	if code != 0 || stderr != "" || !strings.Contains(stdout, `"masters": "embedded"`) {
		t.Errorf("chaos: exit code %d, %q, %q", code, stdout, stderr)
	}
}

func TestAConfigurationFileThatIsNoneIsRefused(t *testing.T) {
	t.Parallel()
	const names = "masters, move-to, moved-to, user, password-file, tls-ca, tls-cert, tls-key, guard, max-ttl, client-skew"
	for text, want := range map[string]string{
		"masters redis://:secret@h":          "line 1: masters redis://[redacted]@h: want name = value, with one of the names " + names,
		"\npassword = secret":                "line 2: unknown name \"password\": want one of " + names,
		"masters =":                          "line 1: masters has no value",
		"guard = off\nguard=off":             "line 2: guard is given twice",
		"user = a\nmax-ttl = long":           `line 2: max-ttl "long": want 0 or a duration from 20ms to 24h0m0s, such as 500ms or 2s`,
		strings.Repeat("# 34567\n", 64<<7+1): "longer than 65536 bytes: that is no configuration",
	} {
		name := rig.File(t, text)
		stdout, stderr, code := output(t, nil, "doctor", "--config", name)
		if code != app.ExitUsage || stdout != "" || stderr != "redlock-demo: --config "+name+": "+want+"\n" {
			t.Errorf("%.40q: exit code %d, %q, %q", text, code, stdout, stderr)
		}
	}
	_, stderr, code := output(t, nil, "status", "--config", "/no/such/file", "k")
	if code != app.ExitUsage || stderr != "redlock-demo: --config /no/such/file: open /no/such/file: no such file or directory\n" {
		t.Errorf("exit code %d, %q", code, stderr)
	}
}

// Nobody has asked for the TTL that would not fit.
func TestTheTTLOfExecFollowsTheLongestOne(t *testing.T) {
	t.Parallel()
	_, urls := processes(t, 1, redistest.Config{})
	config := file5s(t, urls)
	if _, stderr, code := output(t, nil, "exec", "--config", config, "k", "--", "true"); code != 0 {
		t.Errorf("exit code %d, %q", code, stderr)
	}
	if _, stderr, code := output(t, nil, "exec", "--config", config, "--ttl", "6s", "k", "--", "true"); code != app.ExitUsage || !strings.Contains(stderr, "above --max-ttl") {
		t.Errorf("a TTL that was asked for: exit code %d, %q", code, stderr)
	}
}

// file5s is a configuration with a longest TTL of 5 s.
func file5s(t *testing.T, urls string) string {
	t.Helper()
	return rig.File(t, "masters = "+urls+"\nmax-ttl = 5s\n")
}
