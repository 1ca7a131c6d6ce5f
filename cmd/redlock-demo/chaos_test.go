package main

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/chaos"
	"github.com/redquorum/redquorum/cmd/internal/rig"
)

const shortScript = "1s kill 1\n1200ms cut 2\n1400ms restart 1\n1600ms heal 2\n3s end\n"

func TestChaosPrintsLinesAndEndsWithTheVerdict(t *testing.T) {
	t.Parallel()
	stdout, stderr, code := output(t, []string{"TERM=xterm-256color"}, "chaos", "--script", rig.File(t, shortScript), "--ttl", "5s")
	for _, want := range []string{
		`^5 masters in this process, 4 contenders for the lock chaos:\w{20}, TTL 5s\n`,
		`\n +\d\.\d s  a quorum serves: \d of 5\n`, `\n +1\.\d s  master 1 killed\n`, `master 2 cut off\n`, `master 1 restarted with its data\n`,
		`\n +[123]\.\d s  · \d of 5 serve · `, `\nHELD    \d+ holds and \d+ looks in 3\.\d s, and never two held the lock at once`,
	} {
		if !regexp.MustCompile(want).MatchString(stdout) {
			t.Errorf("no %q", want)
		}
	}
	if code != 0 || stderr != "" || strings.ContainsAny(stdout, "\x1b\r") || t.Failed() {
		t.Errorf("exit code %d, %q\n%s", code, stderr, stdout)
	}
}

func TestChaosReadsItsScriptFromTheStandardInputAndPrintsADocument(t *testing.T) {
	t.Parallel()
	cmd := command(t, nil, "chaos", "--json", "--script", "-", "--ttl", "5s")
	cmd.Stdin = strings.NewReader(shortScript)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	code := codeOf(t, cmd.Run())
	r := rig.Parse[chaos.Result](t, out.String())
	if code != 0 || errs.String() != "" || r.Verdict != chaos.VerdictHeld || r.Masters != "embedded" || r.TTLMS != 5000 || r.Contenders != 4 {
		t.Errorf("exit code %d, %q, %+v", code, errs.String(), r)
	}
	if r.Counts.Acquired < 3 || !r.Fencing || r.Check.Tokens == 0 || int64(r.Check.Holds) != r.Counts.Acquired || len(r.Events) < 5 || r.DurationMS < 3000 {
		t.Errorf("%+v", r)
	}
}

// breaking sets most clocks forward again and again: no lock on masters whose
// clocks jump can hold without its guard.
var breaking = func() string {
	var script strings.Builder
	for i := range 30 {
		fmt.Fprintf(&script, "%dms skew all %dm\n", 500+100*i, i+1)
	}
	return script.String() + "4s end\n"
}()

func TestChaosTellsOfALockThatIsBroken(t *testing.T) {
	t.Parallel()
	stdout, stderr, code := output(t, nil, "chaos", "--script", rig.File(t, breaking))
	if code != app.ExitFailed || !strings.Contains(stdout, " hold the lock at once\n") || !strings.Contains(stdout, "\nBROKEN  two held the lock at once, ") ||
		!strings.HasPrefix(stderr, "redlock-demo: the lock was broken: two held the lock at once, ") || strings.Count(stderr, "\n") != 1 {
		t.Errorf("exit code %d, %q\n%s", code, stderr, stdout)
	}
}
