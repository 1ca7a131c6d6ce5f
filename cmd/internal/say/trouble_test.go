package say

import (
	"errors"
	"fmt"
	"syscall"
	"testing"

	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/pool"
)

func TestATableSaysInAWordOrTwoWhyAMasterDidNotAnswer(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"down: connection refused":            &pipeline.DownError{Cause: fmt.Errorf("dial tcp: %w", syscall.ECONNREFUSED)},
		"down: odd":                           &pipeline.DownError{Cause: errors.New("odd")},
		"down":                                pool.ErrDown,
		"does not answer":                     pool.ErrTimeout,
		"password refused (the master is up)": &pipeline.DownError{Cause: &pipeline.ConfigError{What: "AUTH", Err: errors.New("WRONGPASS")}},
		"is still being checked":              &pipeline.DownError{Cause: pipeline.ErrConnecting},
		"NOPERM this user":                    errors.New("NOPERM this user"),
	} {
		if got := Short(err); got != want {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
	}
}
