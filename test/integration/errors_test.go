package integration

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/redquorum/redquorum/redlock"
)

// sentinels are all errors that a caller may decide by.
var sentinels = []error{
	redlock.ErrTaken,
	redlock.ErrNoQuorum,
	redlock.ErrLost,
	redlock.ErrNotHeld,
	redlock.ErrUnlocked,
	redlock.ErrReentrant,
	redlock.ErrClosed,
	context.Canceled,
	context.DeadlineExceeded,
}

// wantExactly checks that an error matches the named sentinels and no others, and that its text is
// one line.
func wantExactly(t testing.TB, what string, err error, want ...error) {
	t.Helper()
	if err == nil {
		t.Errorf("%s: no error, want one that matches %q", what, want)
		return
	}
	for _, s := range sentinels {
		if got, wanted := errors.Is(err, s), slices.Contains(want, s); got != wanted {
			t.Errorf("%s: errors.Is(err, %q) is %v, want %v: %v", what, s, got, wanted, err)
		}
	}
	if strings.ContainsAny(err.Error(), "\r\n") {
		t.Errorf("%s: the text has more than one line: %q", what, err)
	}
}

// matchesExactly is wantExactly for a result that may be one of several.
func matchesExactly(err error, want ...error) bool {
	for _, s := range sentinels {
		if errors.Is(err, s) != slices.Contains(want, s) {
			return false
		}
	}
	return err != nil
}

// quorumError returns the part of an error that says what every master answered.
func quorumError(t testing.TB, err error) *redlock.QuorumError {
	t.Helper()
	q, ok := errors.AsType[*redlock.QuorumError](err)
	if !ok {
		t.Fatalf("%v (%T) is no *QuorumError", err, err)
	}
	return q
}

// causes returns the masters' parts of an error, by the address of the master. A part must match
// no sentinel and no context's error.
func causes(t testing.TB, err error) map[string]error {
	t.Helper()
	byMaster := make(map[string]error)
	q := quorumError(t, err)
	if q.Nodes == nil {
		return byMaster
	}
	for _, e := range q.Nodes.Errors {
		n, ok := errors.AsType[*redlock.NodeError](e)
		if !ok {
			t.Fatalf("%v (%T) is no *NodeError", e, e)
		}
		for _, s := range sentinels {
			if errors.Is(n, s) {
				t.Errorf("master %s: %v matches %q", n.Master, n, s)
			}
		}
		if byMaster[n.Master] != nil {
			t.Errorf("master %s is named twice: %v", n.Master, err)
		}
		byMaster[n.Master] = n.Err
	}
	return byMaster
}
