package chaos

import (
	"testing"
	"time"
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
