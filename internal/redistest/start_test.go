package redistest

import (
	"fmt"
	"testing"
)

var _ TB = testing.TB(nil)

// recorder is a test that notes why it is skipped or fails.
type recorder struct{ fatal, skips []string }

func (r *recorder) Helper()                   {}
func (r *recorder) Cleanup(func())            {}
func (r *recorder) Failed() bool              { return false }
func (r *recorder) Logf(string, ...any)       {}
func (r *recorder) Errorf(string, ...any)     {}
func (r *recorder) Fatalf(f string, a ...any) { r.fatal = append(r.fatal, fmt.Sprintf(f, a...)) }
func (r *recorder) Skipf(f string, a ...any)  { r.skips = append(r.skips, fmt.Sprintf(f, a...)) }
