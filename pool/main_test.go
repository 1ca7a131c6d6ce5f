package pool

import (
	"flag"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"testing"
	"time"
)

// bound is how long the tests wait for what must happen.
const bound = 20 * time.Second

// TestMain fails when the tests leave a goroutine behind.
func TestMain(m *testing.M) {
	// Masters are broken on purpose: their clients' warnings would bury the results.
	slog.SetDefault(slog.New(slog.DiscardHandler))
	flag.Parse()
	before := runtime.NumGoroutine()
	code := m.Run()
	// The fuzzing engine has goroutines of its own, for as long as the process.
	if flag.Lookup("test.fuzz").Value.String() == "" {
		if stacks, ok := goroutinesEnd(before); !ok {
			fmt.Fprintf(os.Stderr, "goroutines left behind by the tests:\n%s\n", stacks)
			code = max(code, 1)
		}
	}
	os.Exit(code)
}

// goroutinesEnd waits until no more than so many goroutines are left; otherwise
// it returns the stacks of all.
func goroutinesEnd(most int) (stacks []byte, ok bool) {
	for deadline := time.Now().Add(bound); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if runtime.NumGoroutine() <= most {
			return nil, true
		}
	}
	stacks = make([]byte, 1<<20)
	return stacks[:runtime.Stack(stacks, true)], false
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(bound); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", bound, what)
		}
	}
}
