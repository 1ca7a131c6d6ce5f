package integration

import (
	"fmt"
	"log/slog"
	"os"
	"sync"
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
	fmt.Println(closing.line())
	os.Exit(code)
}

// closing collects what the closing line tells: the run itself cannot know
// before its end which tests were chosen.
var closing closingLine

type closingLine struct {
	mu         sync.Mutex // guards what follows
	processes  string
	containers string
}

func (c *closingLine) ranProcesses() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.processes == "" {
		_, version, err := redistest.Find()
		if err != nil {
			version = fmt.Sprintf("of unknown version (%v)", err)
		}
		c.processes = "ran on redis-server " + version
	}
}

// about says what became of the tests in containers; the first word counts.
func (c *closingLine) aboutContainers(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.containers == "" {
		c.containers = what
	}
}

func (c *closingLine) line() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	processes, containers := c.processes, c.containers
	if processes == "" {
		processes = "no test was run on any"
		if err := redistest.Available(); err != nil {
			processes = fmt.Sprintf("did not run: %v", err)
		}
	}
	if containers == "" {
		containers = "no test of theirs was chosen"
	}
	return fmt.Sprintf("integration: processes: %s; containers: %s", processes, containers)
}
