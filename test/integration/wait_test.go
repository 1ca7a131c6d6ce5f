package integration

import (
	"testing"
	"time"

	"github.com/redquorum/redquorum/internal/testutil"
)

// settleBound is how long the tests wait for what must happen. It is generous: beyond it something
// is broken, not slow. It is not above the TTL of locks, which would free keys that nobody has
// released.
const settleBound = 10 * time.Second

// lateness is how late the end of a context may be noticed: the goroutine that waits for it needs
// a processor first.
const lateness = 500 * time.Millisecond

// eventually waits for a condition, at most for settleBound.
func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	testutil.Within(t, settleBound, what, condition)
}

func timed(f func()) time.Duration {
	began := time.Now()
	f()
	return time.Since(began)
}
