package demo

import (
	"errors"
	"syscall"
	"testing"
	"time"

	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

func TestHowAMasterIsSeen(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		m    redlock.MasterReport
		want sight
	}{
		{redlock.MasterReport{Err: pipeline.ErrConnecting}, sight{state: seenGone, text: "is still being checked", open: true}},
		{redlock.MasterReport{Err: syscall.ECONNREFUSED}, sight{state: seenGone, text: "down: connection refused"}},
		{redlock.MasterReport{Err: pool.ErrStalled}, sight{state: seenSilent, text: "does not answer"}}, // such as a frozen master
		{redlock.MasterReport{Err: &pipeline.ConfigError{What: "AUTH", Err: errors.New("no")}}, sight{state: seenRefuses, text: "password refused (the master is up)"}},
		{redlock.MasterReport{Connected: true, Votes: true}, sight{state: seenUp}},
	} {
		if got := see(&test.m); got != test.want {
			t.Errorf("%+v: %+v, want %+v", test.m, got, test.want)
		}
	}
	checked := redlock.MasterReport{Connected: true, Why: &redlock.AbstainError{Cause: guard.Unmarked}}
	if got := see(&checked); got.state != seenAbstains || !got.open {
		t.Errorf("%+v", got)
	}
}

func TestALineSaysWhatIsLostByAChangeOfAMasterAndWhatIsNot(t *testing.T) {
	t.Parallel()
	until := time.Date(2026, 1, 1, 20, 24, 16, 5e8, time.Local)
	waits := redlock.MasterReport{Connected: true, Why: &redlock.AbstainError{Cause: guard.Quarantined, How: "restarted", Left: time.Minute, Until: until}}
	for _, test := range []struct {
		m             redlock.MasterReport
		before, after int
		want          string
	}{
		{redlock.MasterReport{Err: syscall.ECONNREFUSED}, 5, 4, "m:1 is gone: 4 of 5 vote, no lock is lost"},
		{redlock.MasterReport{Err: syscall.ECONNREFUSED}, 3, 2, "m:1 is gone: 2 of 5 vote, no lock is granted, none is held twice"},
		{redlock.MasterReport{Err: pool.ErrStalled}, 5, 4, "m:1 does not answer: 4 of 5 vote, no lock is lost"},
		{waits, 5, 4, "m:1 restarted, votes at 20:24:17: 4 of 5 vote, no lock is lost"},
		{redlock.MasterReport{Connected: true, Votes: true}, 2, 3, "m:1 votes again: 3 of 5 vote, locks are granted"},
		{redlock.MasterReport{Connected: true, Votes: true}, 1, 2, "m:1 votes again: 2 of 5 vote, no quorum"},
	} {
		test.m.Master = "m:1"
		s := see(&test.m)
		if got := change(&s, test.before, test.after, 5, 3); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}

func TestTheMasterWhoseQuarantineEndsFirstIsNamed(t *testing.T) {
	t.Parallel()
	in := func(name string, left time.Duration) sight {
		return sight{master: name, state: seenAbstains, why: &redlock.AbstainError{Cause: guard.Quarantined, Left: left}}
	}
	if first := next([]sight{{state: seenUp}, in("b", 3*time.Second), in("c", time.Second), in("d", time.Second)}); first == nil || first.master != "c" {
		t.Errorf("%+v", first)
	}
	if first := next([]sight{{state: seenUp}, {state: seenGone}}); first != nil {
		t.Errorf("%+v", first)
	}
}
