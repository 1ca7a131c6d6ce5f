//go:build !linux

package redistest

import (
	"errors"
	"fmt"
)

func compileShim() ([]byte, error) {
	return nil, fmt.Errorf("redistest: move a server's clock: %w on this system", errors.ErrUnsupported)
}

func mapPage(string) (*clockPage, func() error, error) { return nil, nil, errors.ErrUnsupported }
