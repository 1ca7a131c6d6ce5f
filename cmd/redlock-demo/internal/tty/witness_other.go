//go:build !unix

package tty

import (
	"errors"
	"os"
)

type witness struct{}

func newWitness(_, _ *os.File, _ []string) (*witness, error) { return nil, errors.ErrUnsupported }
func (*witness) dismiss()                                    {}

// Witness is of use on unix only.
func Witness() error { return errors.ErrUnsupported }
