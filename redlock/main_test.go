package redlock_test

import (
	"fmt"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/redquorum/redquorum/internal/simmaster"
	"github.com/redquorum/redquorum/internal/testutil"
)

// TestMain starts the masters of the examples, and fails the run if a goroutine outlives the tests.
func TestMain(m *testing.M) {
	// Masters are broken on purpose: their clients' warnings would bury the results.
	slog.SetDefault(slog.New(slog.DiscardHandler))
	os.Exit(testutil.RunClean(func() int {
		cluster, err := simmaster.StartCluster(5)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer cluster.Close()
		masterURLs = cluster.URLs()
		return m.Run()
	}, 10*time.Second))
}
