package chaos

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

func TestAnOutageIsToldOfWhenItLasts(t *testing.T) {
	t.Parallel()
	start := time.Unix(1, 0)
	var o outage
	for _, look := range []struct {
		at, serving int
		want        string
	}{
		{0, 0, ""}, {100, 5, "a quorum serves: 5 of 5"},
		{200, 1, ""}, {300, 5, ""}, // a busy machine
		{400, 1, ""}, {800, 2, ""}, {899, 2, ""}, {900, 2, "no quorum: 2 of 5 serve, 3 needed"}, {1000, 1, ""},
		{1100, 3, "a quorum serves again: 3 of 5"}, {1200, 4, ""},
	} {
		if got := o.judge(look.serving, 5, 3, start.Add(time.Duration(look.at)*time.Millisecond)); got != look.want {
			t.Errorf("after %d ms, with %d of 5: %q, want %q", look.at, look.serving, got, look.want)
		}
	}
}

func TestAMasterIsOnlyWithoutAConnectionWhereNothingListens(t *testing.T) {
	t.Parallel()
	waits := &redlock.AbstainError{Cause: redlock.AbstainQuarantined, Left: 1300 * time.Millisecond}
	for _, test := range []struct {
		m    redlock.MasterReport
		want string
	}{
		{redlock.MasterReport{Connected: true, Votes: true}, ""},
		{redlock.MasterReport{Err: syscall.ECONNREFUSED}, "no connection"},
		{redlock.MasterReport{Err: fmt.Errorf("%w (dial)", pool.ErrTimeout)}, "no answer"}, // as one that is frozen
		{redlock.MasterReport{Err: pool.ErrStalled}, "no answer"},
		{redlock.MasterReport{Connected: true, Why: waits}, "waits 1.3 s"},
		{redlock.MasterReport{Connected: true, Why: &redlock.AbstainError{Cause: redlock.AbstainOffClock}}, redlock.AbstainOffClock.String()},
	} {
		var rows [1]MasterRow
		standing([]redlock.MasterReport{test.m}, rows[:])
		if rows[0].Standing != test.want || rows[0].Votes != test.m.Votes {
			t.Errorf("%+v: %q, want %q", test.m, rows[0].Standing, test.want)
		}
	}
}
