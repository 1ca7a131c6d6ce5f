package fleets_test

import (
	"fmt"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/redquorum/redquorum/internal/leftover"
	"github.com/redquorum/redquorum/internal/simmaster"
)

// TestMain starts the masters of the examples, and fails the run when a goroutine
// outlives the tests.
func TestMain(m *testing.M) {
	// Masters are broken on purpose: their clients' warnings would bury the results.
	slog.SetDefault(slog.New(slog.DiscardHandler))
	os.Exit(leftover.Run(func() int {
		cluster, err := simmaster.StartCluster(6)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer cluster.Close()
		firstURLs, secondURLs = cluster.URLs()[:3], cluster.URLs()[3:]
		return m.Run()
	}, 10*time.Second))
}
