//go:build unix

package main

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/rig"
	"github.com/redquorum/redquorum/cmd/internal/wait"
	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/redlock"
)

// waitedFor is the report of wait --json.
func waitedFor(t *testing.T, c *redistest.Cluster, want int, args ...string) wait.WaitReport {
	t.Helper()
	r, code := document[wait.WaitReport](t, nil, append([]string{"wait", "--json", "--masters", addresses(c)}, args...)...)
	if code != want || r.ExitCode != want {
		t.Fatalf("exit code %d, want %d: %+v", code, want, r)
	}
	return r
}

func TestWaitReturnsWhenTheLockIsFree(t *testing.T) {
	t.Parallel()
	c := servers(t, 3)
	if r := waitedFor(t, c, 0, "k"); r.Outcome != "free" {
		t.Errorf("%+v", r)
	}
	l := mustLock(t, rig.Opened(t, c), "k", redlock.WithTTL(time.Minute))
	if r := waitedFor(t, c, app.ExitBusy, "--wait", "0.3", "k"); r.Outcome != "timeout" || r.WaitedMS < 300 {
		t.Errorf("%+v", r)
	}
	r := startCommand(t, command(t, []string{"REDLOCK_MASTERS=" + addresses(c)}, "wait", "k"))
	do(t, c.Masters[:1], "CONFIG", "RESETSTAT")
	rig.Eventually(t, "it has asked three times", func() bool {
		stats, err := redis.String(c.Masters[0].Do("INFO", "commandstats"))
		_, calls, _ := strings.Cut(stats, "cmdstat_evalsha:calls=")
		calls, _, _ = strings.Cut(calls, ",")
		n, _ := strconv.Atoi(calls) // 0 before the first
		return err == nil && n >= 3
	})
	if text := r.stdout.String(); text != "" {
		t.Errorf("%q while the lock is held", text)
	}
	if err := l.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
	if code := r.end(t); code != 0 || r.stdout.String() != "k: free on 3 of 3\n" || r.stderr.String() != "" {
		t.Errorf("exit code %d, %q, %q", code, r.stdout.String(), r.stderr.String())
	}
}

func TestWaitSaysNothingWhenItIsToBeQuiet(t *testing.T) {
	t.Parallel()
	c := servers(t, 3)
	do(t, c.Masters, "SET", "k", "billing"+rig.TokenOf, "PX", minuteInMS)
	for key, want := range map[string]int{"free": 0, "k": app.ExitBusy} {
		stdout, stderr, code := output(t, nil, "wait", "-q", "--wait", "100ms", "--masters", addresses(c), key)
		if code != want || stdout+stderr != "" {
			t.Errorf("%s: exit code %d, %q, %q", key, code, stdout, stderr)
		}
	}
}

func TestWaitGivesUpWhereTooFewMastersAnswer(t *testing.T) {
	t.Parallel()
	c := servers(t, 3)
	kill(t, c.Masters[1:]...)
	if r := waitedFor(t, c, app.ExitNoQuorum, "--wait", "100ms", "k"); r.Outcome != app.OutcomeNoQuorum {
		t.Errorf("%+v", r)
	}
	if r := waitedFor(t, c, app.ExitNoQuorum, "k"); r.WaitedMS < wait.SilenceBound.Milliseconds() {
		t.Errorf("%+v", r)
	}
}

func TestWaitTellsAScriptWhetherALockIsHeld(t *testing.T) {
	t.Parallel()
	c := servers(t, 3)
	mustLock(t, rig.Opened(t, c), "held")
	do(t, c.Masters[:1], "SET", "half", "billing"+rig.TokenOf, "PX", minuteInMS)
	for key, want := range map[string]int{"free": 0, "held": app.ExitBusy, "half": 0} {
		if stdout, stderr, code := output(t, nil, "wait", "-n", "-q", "--masters", addresses(c), key); code != want || stdout+stderr != "" {
			t.Errorf("%s: exit code %d, want %d, %q, %q", key, code, want, stdout, stderr)
		}
	}
	if _, stderr, code := output(t, nil, "wait", "--try", "--masters", addresses(c), "held"); code != app.ExitBusy || !strings.Contains(stderr, `lock "held" is not free: held by `) {
		t.Errorf("exit code %d, %q", code, stderr)
	}
	if stdout, _, code := output(t, nil, "status", "-q", "--masters", addresses(c), "held"); code != 0 || stdout != "" {
		t.Errorf("status: exit code %d, %q", code, stdout)
	}
	if stdout, _, code := output(t, nil, "status", "--masters", addresses(c)); code != 0 || stdout != "Can lock: YES. 3 of 3 masters vote, 2 needed.\n" {
		t.Errorf("without a key: exit code %d, %q", code, stdout)
	}
	kill(t, c.Masters[1:]...)
	if _, stderr, code := output(t, nil, "wait", "-n", "-q", "--masters", addresses(c), "held"); code != app.ExitNoQuorum || stderr != "" {
		t.Errorf("with one of three masters: exit code %d, %q", code, stderr)
	}
	if _, _, code := output(t, nil, "status", "--masters", addresses(c)); code != app.ExitNoQuorum {
		t.Errorf("without a key, with one of three masters: exit code %d", code)
	}
}
