//go:build unix

package main

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/cmd/internal/release"
	"github.com/redquorum/redquorum/cmd/internal/testutil"
	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/redlock"
)

// released runs release --yes --json and returns its report.
func released(t *testing.T, c *redistest.Cluster, want int, args ...string) release.ReleaseReport {
	t.Helper()
	r, code := document[release.ReleaseReport](t, nil, append([]string{"release", "--yes", "--json", "--masters", addresses(c)}, args...)...)
	if code != want || r.ExitCode != want {
		t.Fatalf("exit code %d, want %d: %+v", code, want, r)
	}
	return r
}

const minuteInMS = "60000"

func TestNobodyGetsInBeforeTheTimeOfAReleasedLockIsOver(t *testing.T) {
	t.Parallel()
	c := servers(t, 5)
	waiter := testutil.Opened(t, c)
	another := testutil.Opened(t, c)
	for _, client := range []*redlock.Client{waiter, another} { // a busy machine may take longer to connect than one attempt lasts
		if err := client.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	end := time.Now().Add(5 * time.Second) // at the earliest
	do(t, c.Masters, "SET", "k", "billing"+testutil.TokenOf, "PX", "5000")
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

// A holder of several keys by one call loses all of them with one.
func TestOneOfSeveralLocksIsReleased(t *testing.T) {
	t.Parallel()
	c := servers(t, 3)
	client := testutil.Opened(t, c)
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

func TestStrictGuardKeepsOthersOutAfterAnOperatorRelease(t *testing.T) {
	t.Parallel()
	c := redistest.Start(t, 3, redistest.Config{AppendOnly: redistest.AppendAlways})
	holder := testutil.Opened(t, c, redlock.WithGuard(redlock.GuardStrict))
	if err := holder.Init(t.Context()); err != nil {
		t.Fatal(err)
	}
	held := mustLock(t, holder, "k", redlock.WithTTL(time.Minute), redlock.WithRenewal(redlock.Renewal{Every: 200 * time.Millisecond}))
	released(t, c, 0, "k")
	<-held.Context().Done()
	testutil.Eventually(t, "the holder has cleared its leases", func() bool {
		for _, m := range c.Masters {
			if n, err := redis.Int(m.Do("ZCARD", "redquorum:lease:1:k")); err != nil || n != 0 {
				return false
			}
		}
		return true
	})
	other := testutil.Opened(t, c, redlock.WithGuard(redlock.GuardStrict))
	if _, err := other.TryLock(t.Context(), "k"); !errors.Is(err, redlock.ErrTaken) {
		t.Errorf("before the time was over: %v", err)
	}
}
