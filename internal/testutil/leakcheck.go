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

// Library are parts of the names of the functions that the library's goroutines
// run.
var Library = []string{
	"redquorum/redquorum/redlock.",
	"redquorum/redquorum/pool.",
	"redquorum/redquorum/internal/pipeline.",
	"redquorum/redquorum/internal/waitqueue.",
}

// Goroutines returns the stacks of the goroutines, but for the caller's, that
// run one of the functions named by parts of their names.
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

// RunClean runs tests and returns the code to exit with: they fail where a goroutine
// outlives them that was not there before, unless they fuzz. It waits for those on
// their way out, for bound at the most.
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

// SideBySide has n tests run at a time at the least, where these wait most of the time. The command line may
// say otherwise.
func SideBySide(n int) {
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue && runtime.GOMAXPROCS(0) < n {
		_ = flag.Set("test.parallel", strconv.Itoa(n))
	}
}

// LeakCheck tells, at the end of a run of tests, what outlived them: goroutines of the
// library or of the frames named, and child processes. It waits for what is on
// its way out, for bound at the most.
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
