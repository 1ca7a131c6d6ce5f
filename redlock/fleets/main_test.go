package fleets_test

import (
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/redquorum/redquorum/internal/simmaster"
)

// TestMain starts the masters of the examples, and fails the run when a goroutine
// outlives the tests.
func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	// Masters are broken on purpose: their clients' warnings would bury the results.
	slog.SetDefault(slog.New(slog.DiscardHandler))
	before := runtime.NumGoroutine()
	cluster, err := simmaster.StartCluster(6)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	firstURLs, secondURLs = cluster.URLs()[:3], cluster.URLs()[3:]
	code := m.Run()
	cluster.Close()
	for deadline := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<20)
			fmt.Fprintf(os.Stderr, "goroutines left behind:\n%s\n", stacks[:runtime.Stack(stacks, true)])
			return 1
		}
	}
	return code
}
