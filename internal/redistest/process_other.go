//go:build !unix

package redistest

import (
	"errors"
	"fmt"
	"syscall"
)

func childAttributes() *syscall.SysProcAttr { return nil }

func suspend(*process) error {
	return fmt.Errorf("freeze a process: %w on this system", errors.ErrUnsupported)
}

// resume has nothing to do where nothing can be suspended.
func resume(*process) error { return nil }

func suspended(int) (bool, error) { return false, errors.ErrUnsupported }
