package integration

import (
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"testing"

	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/test/integration/internal/container"

	"github.com/redquorum/redquorum/internal/leftover"
)

func TestMain(m *testing.M) {
	// Masters are broken on purpose: their clients' warnings would bury the results.
	slog.SetDefault(slog.New(slog.DiscardHandler))
	if role := os.Getenv(childVariable); role != "" {
		os.Exit(childMain(role))
	}
	stop := container.RemoveOnSignal()
	code := m.Run()
	stop()
	if err := leftover.Any(settleBound, "redquorum/test/integration.", "redistest."); err != nil {
		fmt.Fprintln(os.Stderr, "left behind by the tests:", err)
		code = max(code, 1)
	}
	fmt.Println(closingLine())
	os.Exit(code)
}

// What the closing line tells: the run itself cannot know before its end which tests were
// chosen.
var (
	ranProcesses atomic.Bool
	ofContainers atomic.Pointer[string] // what became of the tests in containers; the first word counts
)

func aboutContainers(what string) { ofContainers.CompareAndSwap(nil, &what) }

func closingLine() string {
	processes, containers := "no test was run on any", "no test of theirs was chosen"
	if _, version, err := redistest.Find(); err != nil {
		processes = fmt.Sprintf("did not run: %v", err)
	} else if ranProcesses.Load() {
		processes = "ran on redis-server " + version
	}
	if what := ofContainers.Load(); what != nil {
		containers = *what
	}
	return fmt.Sprintf("integration: processes: %s; containers: %s", processes, containers)
}
