//go:build !unix

// Package witness has a process watch ours. It is of use on unix only.
package witness

import (
	"errors"
	"os"
)

// A Witness is the process that watches ours.
type Witness struct{}

// Start always fails.
func Start(_, _ *os.File, _ ...string) (*Witness, error) { return nil, errors.ErrUnsupported }

// Dismiss does nothing.
func (*Witness) Dismiss() {}

// Await always fails.
func Await() (dismissed bool, err error) { return false, errors.ErrUnsupported }
