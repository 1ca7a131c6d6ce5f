//go:build !unix

package redistest

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

func childAttributes() *syscall.SysProcAttr { return nil }

func suspend(*os.Process) error {
	return fmt.Errorf("freeze a process: %w on this system", errors.ErrUnsupported)
}

// resume has nothing to do where nothing can be suspended.
func resume(*os.Process) error { return nil }

func suspended(int) (bool, error) { return false, errors.ErrUnsupported }
