//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/release"
	"github.com/redquorum/redquorum/cmd/internal/rig"
	"github.com/redquorum/redquorum/cmd/internal/say"
	"github.com/redquorum/redquorum/internal/acl"
	"github.com/redquorum/redquorum/internal/redistest"
	tokens "github.com/redquorum/redquorum/internal/token"
	"github.com/redquorum/redquorum/redlock"
)

// released is the report of release --yes --json.
func released(t *testing.T, c *redistest.Cluster, want int, args ...string) release.ReleaseReport {
	t.Helper()
	r, code := document[release.ReleaseReport](t, nil, append([]string{"release", "--yes", "--json", "--masters", addresses(c)}, args...)...)
	if code != want || r.ExitCode != want {
		t.Fatalf("exit code %d, want %d: %+v", code, want, r)
	}
	return r
}

const minuteInMS = "60000"

func TestAHolderUnderExecHearsThatAnOperatorReleasedItsLock(t *testing.T) {
	t.Parallel()
	c := servers(t, 5)
	r := start(t, c, "--ttl", "3s", "k", "--", "sh", "-c", `echo ready; exec sleep 600`)
	r.stdout.await(t, "ready")
	stdout, stderr, code := output(t, nil, "release", "--yes", "--masters", addresses(c), "k")
	if code != 0 || stderr != "" || strings.Count(stdout, "  replaced\n") < 3 || !strings.Contains(stdout, "\nk: released. Its holder \"") || !strings.Contains(stdout, " cannot renew it any more. Nobody gets in for ") {
		t.Errorf("exit code %d, %q, %q", code, stdout, stderr)
	}
	want := `redlock-demo: lock "k" LOST: released by an operator (` + tokens.Operator(say.LongestOperator) + `). The command is being stopped.` + "\n" + `redlock-demo: lock "k" LOST. The command was stopped (SIGTERM). Another host may hold it now.` + "\n"
	if code := r.end(t); code != app.ExitLost || r.stderr.String() != want {
		t.Errorf("exit code %d, %q, want %q", code, r.stderr.String(), want)
	}
}

func TestALockThatAnOperatorReleasedIsShownAsThat(t *testing.T) {
	t.Parallel()
	c := servers(t, 3)
	do(t, c.Masters, "SET", "k", "billing"+rig.TokenOf, "PX", minuteInMS)
	do(t, c.Masters, "ZADD", "redquorum:lease:1:k", fmt.Sprint(-time.Now().Add(time.Minute).UnixMilli()), "billing"+rig.TokenOf)
	if r := released(t, c, 0, "k"); r.Outcome != release.ReleaseDone || r.By != tokens.Operator(say.LongestOperator) || r.Holder.Owner != "billing" || r.FreeInMS < 1 || r.FreeInMS > 60_000 || len(r.Masters) != 3 {
		t.Errorf("%+v", r)
	}
	said := "released by an operator (" + tokens.Operator(say.LongestOperator) + ")"
	if stdout, _, code := output(t, nil, "status", "--masters", addresses(c), "k"); code != 0 || !strings.Contains(stdout, "\nk: "+said+" on 3 of 3, free in ") {
		t.Errorf("status: exit code %d, %q", code, stdout)
	}
	if stdout, _, code := output(t, nil, "locks", "--masters", addresses(c)); code != 0 || !strings.Contains(stdout, "  released by "+tokens.Operator(say.LongestOperator)+"  3 of 3  ") {
		t.Errorf("locks: exit code %d, %q", code, stdout)
	}
	if _, stderr, code := output(t, nil, "exec", "--try", "--masters", addresses(c), "k", "--", "true"); code != app.ExitBusy || stderr != `redlock-demo: lock "k" is taken: `+said+"\n" {
		t.Errorf("exec: exit code %d, %q", code, stderr)
	}
	if r := released(t, c, 0, "k"); r.Outcome != release.ReleaseAlready || r.By != tokens.Operator(say.LongestOperator) || r.Masters != nil {
		t.Errorf("again: %+v", r)
	}
	if r := released(t, c, 0, "--now", "k"); r.Outcome != release.ReleaseDone || r.LeasedMS < 1 || r.By == "" || holders(t, c, "k") != 0 {
		t.Errorf("what an operator has left is not deleted: %+v", r)
	}
}

func TestNobodyGetsInBeforeTheTimeOfAReleasedLockIsOver(t *testing.T) {
	t.Parallel()
	c := servers(t, 5)
	waiter := rig.Opened(t, c)
	another := rig.Opened(t, c)
	for _, client := range []*redlock.Client{waiter, another} { // a busy machine may take longer to connect than one attempt lasts
		if err := client.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	end := time.Now().Add(5 * time.Second) // at the earliest
	do(t, c.Masters, "SET", "k", "billing"+rig.TokenOf, "PX", "5000")
	got := make(chan time.Time, 1)
	go func() {
		if _, err := waiter.Lock(t.Context(), "k"); err != nil {
			t.Error(err)
		}
		got <- time.Now()
	}()
	if r := released(t, c, 0, "k"); r.Outcome != release.ReleaseDone || r.FreeInMS < 1 || r.FreeInMS > 5000 {
		t.Errorf("%+v", r)
	}
	if _, err := another.TryLock(t.Context(), "k"); !errors.Is(err, redlock.ErrTaken) {
		t.Errorf("right after the release: %v", err)
	}
	if at := <-got; at.Before(end.Add(-2 * time.Millisecond)) { // keys expire by the millisecond
		t.Errorf("somebody got in %v before the end", end.Sub(at))
	}
}

func TestReleaseNowLetsAWaiterIn(t *testing.T) {
	t.Parallel()
	c := servers(t, 5)
	holder, waiter := rig.Opened(t, c), rig.Opened(t, c)
	held := mustLock(t, holder, "k", redlock.WithOwner("billing"), redlock.WithLease(time.Minute))
	got := make(chan *redlock.Lock, 1)
	go func() {
		l, err := waiter.Lock(t.Context(), "k")
		if err != nil {
			t.Error(err)
		}
		got <- l
	}()
	rig.Eventually(t, "it waits in the queue", func() bool {
		for _, m := range c.Masters {
			if n, err := redis.Int(m.Do("ZCARD", "redquorum:q:1:{k}")); err == nil && n == 1 {
				return true
			}
		}
		return false
	})
	if r := released(t, c, 0, "--now", "k"); r.Outcome != release.ReleaseDone || !r.Told || r.FreeInMS != 0 || r.LeasedMS != 0 || r.By != "" {
		t.Errorf("%+v", r)
	}
	l := <-got
	if l == nil || held.Remaining() == 0 {
		t.Fatal("the waiter did not get in before the holder's time was over")
	}
	if err := held.Unlock(t.Context()); !errors.Is(err, redlock.ErrLost) {
		t.Errorf("the holder's Unlock: %v", err)
	}
	if err := l.Verify(t.Context()); err != nil {
		t.Errorf("the next holder: %v", err)
	}
}

func TestWhatIsNotHeldIsNotReleased(t *testing.T) {
	t.Parallel()
	c := servers(t, 5)
	client := rig.Opened(t, c)
	if _, err := client.RWMutex("read").RLock(t.Context(), redlock.WithTTL(time.Minute)); err != nil {
		t.Fatal(err)
	}
	do(t, c.Masters[:2], "SET", "half", "billing"+rig.TokenOf, "PX", minuteInMS)
	do(t, c.Masters, "SET", "endless", "billing"+rig.TokenOf)
	do(t, c.Masters, "SET", "long", strings.Repeat("x", 300), "PX", minuteInMS)
	do(t, c.Masters, "RPUSH", "list", "billing"+rig.TokenOf)
	for _, test := range []struct {
		key, outcome string
		code         int
	}{
		{"free", release.ReleaseNotHeld, app.ExitFailed},
		{"half", release.ReleaseNotHeld, app.ExitFailed},
		{"read", release.ReleaseRefused, app.ExitBusy},
		{"endless", release.ReleaseRefused, app.ExitBusy},
		{"long", release.ReleaseRefused, app.ExitBusy},
		{"list", release.ReleaseRefused, app.ExitBusy},
	} {
		for _, now := range []string{"--now=false", "--now"} {
			if r := released(t, c, test.code, now, test.key); r.Outcome != test.outcome || r.Error == "" || r.Masters != nil {
				t.Errorf("%s %s: %+v", now, test.key, r)
			}
		}
	}
	if holders(t, c, "half") != 2 || holders(t, c, "endless") != 5 {
		t.Error("what is not released was touched")
	}
}

func TestALockIsNotReleasedWithoutAQuorum(t *testing.T) {
	t.Parallel()
	c := servers(t, 5)
	do(t, c.Masters, "SET", "k", "billing"+rig.TokenOf, "PX", minuteInMS)
	kill(t, c.Masters[:2]...)
	if r := released(t, c, 0, "k"); r.Outcome != release.ReleaseDone || r.Masters[0].State != "failed" || r.Masters[0].Error == "" || r.Masters[4].State != "replaced" {
		t.Errorf("%+v", r)
	}
	kill(t, c.Masters[2])
	if r := released(t, c, app.ExitNoQuorum, "--now", "k"); r.Outcome != app.OutcomeNoQuorum || value(t, c.Masters[4], "k") == "" {
		t.Errorf("%+v", r)
	}
}

// Who holds several keys by one call has lost them all with one of them.
func TestOneOfSeveralLocksIsReleased(t *testing.T) {
	t.Parallel()
	c := servers(t, 3)
	client := rig.Opened(t, c)
	all, err := client.LockAll(t.Context(), []string{"a", "b"}, redlock.WithTTL(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	released(t, c, 0, "a")
	<-all.Context().Done()
	if !errors.Is(context.Cause(all.Context()), redlock.ErrLost) {
		t.Error(context.Cause(all.Context()))
	}
	free(t, c, "b")
}

// strictFleet is masters that were declared a strict fleet, and a client.
func strictFleet(t *testing.T) (*redistest.Cluster, *redlock.Client) {
	t.Helper()
	c := redistest.Start(t, 3, redistest.Config{AppendOnly: redistest.AppendAlways})
	client := rig.Opened(t, c, redlock.WithGuard(redlock.GuardStrict))
	if err := client.Init(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c, client
}

func TestInAStrictFleetTheLeaseRecordKeepsOthersOutAfterARelease(t *testing.T) {
	t.Parallel()
	c, holder := strictFleet(t)
	began := time.Now()
	mustLock(t, holder, "k", redlock.WithLease(5*time.Second))
	r := released(t, c, 0, "--now", "k")
	if r.Outcome != release.ReleaseDone || r.LeasedMS < 1 || r.LeasedMS > 5000 || holders(t, c, "k") != 0 {
		t.Errorf("%+v", r)
	}
	other := rig.Opened(t, c, redlock.WithGuard(redlock.GuardStrict))
	_, err := other.TryLock(t.Context(), "k")
	if held, ok := errors.AsType[*redlock.HeldError](err); !ok || held.Type != "lease" {
		t.Errorf("right after the release: %v", err)
	}
	mustLock(t, other, "k")
	if waited := time.Since(began); waited < 5*time.Second {
		t.Errorf("somebody got in after %v, before the lease was over", waited)
	}
}

func TestInAStrictFleetAHolderThatHearsOfItsReleaseLetsOthersIn(t *testing.T) {
	t.Parallel()
	c, holder := strictFleet(t)
	held := mustLock(t, holder, "k", redlock.WithTTL(time.Minute), redlock.WithRenewal(redlock.Renewal{Every: 200 * time.Millisecond}))
	if r := released(t, c, 0, "--now", "k"); r.LeasedMS < 1 {
		t.Errorf("%+v", r)
	}
	mustLock(t, rig.Opened(t, c, redlock.WithGuard(redlock.GuardStrict)), "k")
	if lost, ok := errors.AsType[*redlock.LostError](context.Cause(held.Context())); !ok {
		t.Errorf("the holder has lost nothing: %v, %v", lost, context.Cause(held.Context()))
	}
}

func TestInAStrictFleetNobodyGetsInWhenAHolderHearsOfItsRelease(t *testing.T) {
	t.Parallel()
	c, holder := strictFleet(t)
	held := mustLock(t, holder, "k", redlock.WithTTL(time.Minute), redlock.WithRenewal(redlock.Renewal{Every: 200 * time.Millisecond}))
	released(t, c, 0, "k")
	<-held.Context().Done()
	rig.Eventually(t, "the holder has cleared its leases", func() bool {
		for _, m := range c.Masters {
			if n, err := redis.Int(m.Do("ZCARD", "redquorum:lease:1:k")); err != nil || n != 0 {
				return false
			}
		}
		return true
	})
	other := rig.Opened(t, c, redlock.WithGuard(redlock.GuardStrict))
	if _, err := other.TryLock(t.Context(), "k"); !errors.Is(err, redlock.ErrTaken) {
		t.Errorf("before the time was over: %v", err)
	}
}

func TestFencingTokensRiseAfterARelease(t *testing.T) {
	t.Parallel()
	c := servers(t, 3)
	client := rig.Opened(t, c, redlock.WithFencing())
	before := mustLock(t, client, "k", redlock.WithLease(time.Minute)).Fence()
	released(t, c, 0, "--now", "k")
	if after := mustLock(t, client, "k").Fence(); after <= before {
		t.Errorf("%d after %d", after, before)
	}
}

func TestWhoMayLockMayReleaseAndListNeedsScan(t *testing.T) {
	t.Parallel()
	for _, more := range []string{"", " +scan"} {
		c := redistest.Start(t, 3, redistest.Config{ACL: []string{"user locker on >secret " + strings.Join(acl.Rules("lock*"), " ") + more}, Username: "locker", Password: "secret"})
		do(t, c.Masters, "SET", "lock", "billing"+rig.TokenOf, "PX", minuteInMS)
		for _, mode := range []string{"--now=false", "--now"} {
			if r := released(t, c, 0, mode, "lock"); r.Outcome != release.ReleaseDone {
				t.Errorf("%+v", r)
			}
		}
		do(t, c.Masters, "SET", "lock", "billing"+rig.TokenOf, "PX", minuteInMS)
		do(t, c.Masters, "SET", "secret", "billing"+rig.TokenOf, "PX", minuteInMS)
		switch {
		case more == "":
			if d := listed(t, app.ExitNoQuorum, "--masters", addresses(c)); !strings.Contains(d.Masters[0].Error, "it needs +eval +scan") {
				t.Errorf("%+v", d)
			}
		default:
			if d := listed(t, 0, "--masters", addresses(c)); len(d.Locks) != 1 || d.Locks[0].Key != "lock" || d.Masters[0].Hidden != 1 {
				t.Errorf("%+v", d)
			}
		}
	}
}
