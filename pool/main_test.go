package pool

import (
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/redquorum/redquorum/internal/testutil"
)

// bound is how long the tests wait for what must happen.
const bound = 20 * time.Second

// TestMain fails when the tests leave a goroutine behind.
func TestMain(m *testing.M) {
	// Masters are broken on purpose: their clients' warnings would bury the results.
	slog.SetDefault(slog.New(slog.DiscardHandler))
	os.Exit(testutil.RunClean(m.Run, bound))
}
