package integration

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// The library's goroutines, by the functions that they run.
var libraryFrames = []string{
	"redquorum/redquorum/redlock.",
	"redquorum/redquorum/pool.",
	"redquorum/redquorum/internal/pipeline.",
	"redquorum/redquorum/internal/wakeup.",
}

// goroutinesWith returns the stacks of the goroutines, but for the caller's,
// that run one of the functions named by parts of their names.
func goroutinesWith(frames ...string) []string {
	size := 1 << 20
	stacks := make([]byte, size)
	for {
		n := runtime.Stack(stacks, true)
		if n < len(stacks) {
			stacks = stacks[:n]
			break
		}
		size *= 2
		stacks = make([]byte, size)
	}
	var found []string
	for _, stack := range strings.Split(string(stacks), "\n\n")[1:] { // the first is the caller's
		for _, frame := range frames {
			if strings.Contains(stack, frame) {
				found = append(found, stack)
				break
			}
		}
	}
	return found
}

// leftBehind tells, at the end of the run, what outlived the tests: goroutines
// of theirs or of the library, and child processes. It waits for what is on its
// way out.
func leftBehind() error {
	var err error
	for deadline := time.Now().Add(settleBound); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if err = leftBehindNow(); err == nil {
			return nil
		}
	}
	return err
}

func leftBehindNow() error {
	frames := append([]string{"redquorum/test/integration.", "redistest."}, libraryFrames...)
	if stacks := goroutinesWith(frames...); len(stacks) > 0 {
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
