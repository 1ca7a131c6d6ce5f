//go:build unix

package main

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/redlock"
)

// waitedFor is the report of wait --json.
func waitedFor(t *testing.T, c *redistest.Cluster, want int, args ...string) waitReport {
	t.Helper()
	r, code := document[waitReport](t, nil, append([]string{"wait", "--json", "--masters", addresses(c)}, args...)...)
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
	l := mustLock(t, opened(t, c), "k", redlock.WithTTL(time.Minute))
	if r := waitedFor(t, c, exitBusy, "--timeout", "300ms", "k"); r.Outcome != "timeout" || r.WaitedMS < 300 {
		t.Errorf("%+v", r)
	}
	r := startCommand(t, command(t, []string{"REDLOCK_MASTERS=" + addresses(c)}, "wait", "k"))
	do(t, c.Masters[:1], "CONFIG", "RESETSTAT")
	eventually(t, "it has asked three times", func() bool {
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
	do(t, c.Masters, "SET", "k", "billing"+tokenOf, "PX", minuteInMS)
	for key, want := range map[string]int{"free": 0, "k": exitBusy} {
		stdout, stderr, code := output(t, nil, "wait", "-q", "--timeout", "100ms", "--masters", addresses(c), key)
		if code != want || stdout+stderr != "" {
			t.Errorf("%s: exit code %d, %q, %q", key, code, stdout, stderr)
		}
	}
}

func TestWaitGivesUpWhereTooFewMastersAnswer(t *testing.T) {
	t.Parallel()
	c := servers(t, 3)
	kill(t, c.Masters[1:]...)
	if r := waitedFor(t, c, exitNoQuorum, "--timeout", "100ms", "k"); r.Outcome != outcomeNoQuorum {
		t.Errorf("%+v", r)
	}
	if r := waitedFor(t, c, exitNoQuorum, "k"); r.WaitedMS < silenceBound.Milliseconds() {
		t.Errorf("%+v", r)
	}
}

// A sequence gives one answer after the other, the last one again and again.
type sequence struct {
	answers []*redlock.Inspection
	asked   int
}

func (s *sequence) Inspect(context.Context, string) (*redlock.Inspection, error) {
	s.asked++
	return s.answers[min(s.asked, len(s.answers))-1], nil
}

func TestWhenWaitLooksAgain(t *testing.T) {
	t.Parallel()
	held := func(ttl time.Duration) *redlock.Inspection {
		return answer("k", redlock.VerdictHeld, by("a", ttl), by("a", ttl), by("a", ttl))
	}
	free := answer("k", redlock.VerdictFree, nothing(), nothing(), nothing())
	loose := answer("k", redlock.VerdictPartial, by("a", time.Minute), nothing(), nothing())
	unknown := answer("k", redlock.VerdictUnknown, silent(), silent(), nothing())
	for _, test := range []struct {
		name        string
		answers     []*redlock.Inspection
		timeout     time.Duration
		asked       int // times; 0: as many as the time says
		code        int
		least, most time.Duration
	}{
		{"free", []*redlock.Inspection{free}, 0, 1, 0, 0, 0},
		{"held for long", []*redlock.Inspection{held(time.Minute), held(time.Minute), free}, 0, 3, 0, 2 * waitEvery * 4 / 5, 2 * waitEvery},
		{"held for a moment", []*redlock.Inspection{held(150 * time.Millisecond), free}, 0, 2, 0, 151 * time.Millisecond, 151 * time.Millisecond},
		{"left over", []*redlock.Inspection{loose, loose}, 0, 2, 0, waitLeast, waitLeast},
		{"an attempt under way", []*redlock.Inspection{loose, held(time.Minute), loose, free}, 0, 4, 0, 2*waitLeast + waitEvery*4/5, 2*waitLeast + waitEvery},
		{"an outage that ends", []*redlock.Inspection{unknown, unknown, held(time.Minute), unknown, free}, 0, 5, 0, 3 * waitLeast, 3*waitLeast + waitEvery},
		{"an outage", []*redlock.Inspection{unknown}, 0, 0, exitNoQuorum, silenceBound, silenceBound + 2*waitLeast},
		{"a time-out in an outage", []*redlock.Inspection{held(time.Minute), unknown}, time.Second, 0, exitNoQuorum, time.Second, time.Second},
		{"a time-out", []*redlock.Inspection{held(time.Minute)}, 200 * time.Millisecond, 2, exitBusy, 200 * time.Millisecond, 200 * time.Millisecond},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &sequence{answers: test.answers}
				began := time.Now()
				w := &waitFor{client: s, key: "k", timeout: test.timeout}
				code, took := exitCode(w.run(t.Context())), time.Since(began)
				if code != test.code || took < test.least || took > test.most || test.asked > 0 && s.asked != test.asked {
					t.Errorf("exit code %d after %v and %d looks", code, took, s.asked)
				}
			})
		})
	}
}

func TestAWaitThatIsInterruptedSaysSo(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	s := &sequence{answers: []*redlock.Inspection{answer("k", redlock.VerdictHeld, by("a", time.Minute))}}
	w := &waitFor{client: s, key: "k", tell: func(*redlock.Inspection) { cancel(errors.New("enough")) }}
	if err := w.run(ctx); err == nil || err.Error() != "enough" {
		t.Error(err)
	}
}

func TestStatusTellsAScriptWhetherALockIsHeld(t *testing.T) {
	t.Parallel()
	c := servers(t, 3)
	mustLock(t, opened(t, c), "held")
	do(t, c.Masters[:1], "SET", "half", "billing"+tokenOf, "PX", minuteInMS)
	for keys, want := range map[string]int{"free": 0, "held": 1, "half": 0, "free held": 1} {
		args := append([]string{"status", "--check", "--quiet", "--masters", addresses(c)}, strings.Fields(keys)...)
		if stdout, stderr, code := output(t, nil, args...); code != want || stdout+stderr != "" {
			t.Errorf("%s: exit code %d, want %d, %q, %q", keys, code, want, stdout, stderr)
		}
	}
	if stdout, _, code := output(t, nil, "status", "--check", "--masters", addresses(c), "held"); code != 1 || !strings.Contains(stdout, "\nheld: held by ") {
		t.Errorf("exit code %d, %q", code, stdout)
	}
	if stdout, _, code := output(t, nil, "status", "-q", "--masters", addresses(c), "held"); code != 0 || stdout != "" {
		t.Errorf("without --check: exit code %d, %q", code, stdout)
	}
	kill(t, c.Masters[1:]...)
	if _, stderr, code := output(t, nil, "status", "--check", "-q", "--masters", addresses(c), "held"); code != exitNoQuorum || stderr != "" {
		t.Errorf("with one of three masters: exit code %d, %q", code, stderr)
	}
}
