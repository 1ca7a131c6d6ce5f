package pipeline

import (
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/internal/testutil"
)

// bound is how long the tests wait for what must happen. In a bubble it is
// virtual time, and passes only when nothing else can happen any more.
const bound = 20 * time.Second

// TestMain fails when the tests leave a goroutine behind.
func TestMain(m *testing.M) {
	os.Exit(testutil.RunClean(m.Run, bound))
}

// inBubble runs a subtest in virtual time.
func inBubble(t *testing.T, name string, test func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}
