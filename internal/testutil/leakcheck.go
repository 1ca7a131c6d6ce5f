package testutil

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Library are parts of the names of the functions that the library's goroutines run.
var Library = []string{
	"redquorum/redquorum/redlock.",
	"redquorum/redquorum/pool.",
	"redquorum/redquorum/internal/pipeline.",
	"redquorum/redquorum/internal/waitqueue.",
}

// Goroutines returns the stacks of the goroutines, except the caller's, that run a function whose
// name contains one of frames.
func Goroutines(frames ...string) []string {
	buf := make([]byte, 1<<20)
	n := runtime.Stack(buf, true)
	for n == len(buf) {
		buf = make([]byte, 2*len(buf))
		n = runtime.Stack(buf, true)
	}
	stacks := strings.Split(string(buf[:n]), "\n\n")[1:] // the first is the caller's
	return slices.DeleteFunc(stacks, func(stack string) bool {
		return !slices.ContainsFunc(frames, func(frame string) bool { return strings.Contains(stack, frame) })
	})
}

// RunClean runs tests and returns the exit code. The tests fail if more goroutines run after them
// than before, unless they fuzz. RunClean waits for goroutines that are about to end, for bound
// at most.
func RunClean(tests func() int, bound time.Duration) (code int) {
	before := runtime.NumGoroutine()
	code = tests()
	if f := flag.Lookup("test.fuzz"); f != nil && f.Value.String() != "" {
		return code // the fuzzing engine has goroutines of its own, for as long as the process
	}
	for deadline := time.Now().Add(bound); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			fmt.Fprintf(os.Stderr, "goroutines left behind by the tests:\n%s\n", strings.Join(Goroutines(""), "\n\n"))
			return max(code, 1)
		}
	}
	return code
}

// SideBySide runs at least n parallel tests at a time, for tests that wait most of the time. The
// flag -test.parallel overrides it.
func SideBySide(n int) {
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue && runtime.GOMAXPROCS(0) < n {
		_ = flag.Set("test.parallel", strconv.Itoa(n))
	}
}

// LeakCheck returns an error, at the end of a run of tests, if goroutines of the library or of
// frames, or child processes, have outlived them. It waits for those that are about to end, for
// bound at most.
func LeakCheck(bound time.Duration, frames ...string) error {
	frames = append(frames, Library...)
	var err error
	for deadline := time.Now().Add(bound); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if err = now(frames); err == nil {
			return nil
		}
	}
	return err
}

func now(frames []string) error {
	if stacks := Goroutines(frames...); len(stacks) > 0 {
		return fmt.Errorf("%d goroutines:\n%s", len(stacks), strings.Join(stacks, "\n\n"))
	}
	lists, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		return err
	}
	var errs []error
	for _, list := range lists {
		if pids, err := os.ReadFile(list); err == nil && len(bytes.TrimSpace(pids)) > 0 {
			errs = append(errs, fmt.Errorf("child processes %s", bytes.TrimSpace(pids)))
		}
	}
	return errors.Join(errs...)
}
