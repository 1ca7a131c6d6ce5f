package redlocktest_test

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"
)

// passes runs a test of the examples and reports whether it passed. An Example has no *testing.T,
// and testing.RunTests would print into the output.
func passes(test func(t testing.TB)) bool {
	t := &inExample{}
	var wg sync.WaitGroup
	wg.Go(func() { test(t) })
	wg.Wait()
	for _, f := range slices.Backward(t.cleanups) {
		f()
	}
	return !t.failed
}

// inExample has only what the examples need of a testing.TB; the rest panics.
type inExample struct {
	testing.TB
	failed   bool
	cleanups []func()
}

func (t *inExample) Helper()                  {}
func (t *inExample) Context() context.Context { return context.Background() }
func (t *inExample) Cleanup(f func())         { t.cleanups = append(t.cleanups, f) }

func (t *inExample) Errorf(format string, args ...any) {
	t.failed = true
	fmt.Fprintf(os.Stderr, format+"\n", args...)
}

func (t *inExample) Fatalf(format string, args ...any) {
	t.Errorf(format, args...)
	runtime.Goexit()
}

func (t *inExample) Fatal(args ...any) { t.Fatalf("%s", fmt.Sprint(args...)) }
