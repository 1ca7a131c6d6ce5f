package app

import (
	"errors"
	"fmt"
	"syscall"
	"testing"
)

func TestExitCodes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{Usagef("bad"), 64},
		{errors.New("odd"), 70},
		{fmt.Errorf("wrapped: %w", EndsWith(ExitOS, errors.New("no port"))), 71},
		{&OutputError{syscall.EPIPE}, 74},
		{fmt.Errorf("wrapped: %w", &SignalError{syscall.SIGTERM}), 143},
	} {
		if got := ExitCode(test.err); got != test.want {
			t.Errorf("%v: %d, want %d", test.err, got, test.want)
		}
	}
}
