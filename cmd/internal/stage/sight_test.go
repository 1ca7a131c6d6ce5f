package stage

import (
	"errors"
	"testing"

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
