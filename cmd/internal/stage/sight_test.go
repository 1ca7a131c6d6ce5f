package stage

import (
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

func TestHowAMasterIsSeenIsSaid(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken pipe")
	for _, test := range []struct {
		name   string
		m      redlock.MasterReport
		answer error
		want   Sight
	}{
		{"not tried yet", redlock.MasterReport{Err: pipeline.ErrConnecting}, nil, Sight{State: SeenGone, Text: "is still being checked", Open: true}},
		{"no connection", redlock.MasterReport{Err: broken}, nil, Sight{State: SeenGone, Text: "down: broken pipe"}},
		{"a connection that says nothing", redlock.MasterReport{Connected: true}, pool.ErrTimeout, Sight{State: SeenSilent, Text: "does not answer"}},
		{"a wrong password", redlock.MasterReport{Err: &pipeline.ConfigError{What: "AUTH", Err: errors.New("no")}}, nil, Sight{State: SeenRefuses, Text: "password refused (the master is up)"}},
		{
			"still being checked", redlock.MasterReport{Connected: true, Why: &redlock.AbstainError{Cause: redlock.AbstainUnmarked}}, nil,
			Sight{State: SeenAbstains, Cause: redlock.AbstainUnmarked, Text: "is still being checked", Open: true},
		},
		{"well", redlock.MasterReport{Connected: true, Votes: true}, nil, Sight{State: SeenUp, Text: "votes again"}},
		{"a command refused", redlock.MasterReport{Connected: true, Votes: true}, errors.New("NOPERM"), Sight{State: SeenRefuses, Text: "NOPERM"}},
	} {
		if got := See(&test.m, test.answer); got != test.want {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
		}
	}
}

func TestAMasterIsOnlyWithoutAConnectionWhereNothingListens(t *testing.T) {
	t.Parallel()
	waits := &redlock.AbstainError{Cause: redlock.AbstainQuarantined, Left: 1300 * time.Millisecond}
	for _, test := range []struct {
		m      redlock.MasterReport
		answer error
		want   string
	}{
		{redlock.MasterReport{Connected: true, Votes: true}, nil, ""},
		{redlock.MasterReport{Err: syscall.ECONNREFUSED}, nil, "no connection"},
		{redlock.MasterReport{Err: fmt.Errorf("%w (dial)", pool.ErrTimeout)}, nil, "no answer"}, // as one that is frozen
		{redlock.MasterReport{Err: pool.ErrStalled}, nil, "no answer"},
		{redlock.MasterReport{Connected: true, Votes: true}, pool.ErrTimeout, "no answer"},
		{redlock.MasterReport{Err: &pipeline.ConfigError{What: "AUTH", Err: errors.New("no")}}, nil, "refuses us"},
		{redlock.MasterReport{Connected: true, Why: waits}, nil, "waits 1.3 s"},
		{redlock.MasterReport{Connected: true, Why: &redlock.AbstainError{Cause: redlock.AbstainOffClock}}, nil, redlock.AbstainOffClock.String()},
	} {
		seen := See(&test.m, test.answer)
		if got := seen.Brief(); got != test.want || (seen.State == SeenUp) != (test.want == "") {
			t.Errorf("%+v: %q, want %q", test.m, got, test.want)
		}
	}
}
