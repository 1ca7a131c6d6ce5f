package redlock

import (
	"errors"
	"fmt"
)

// WithFencing asks for a fencing token. Not available in this version: the
// error matches errors.ErrUnsupported.
func WithFencing() LockOption { return unavailable("WithFencing") }

func unavailable(option string) LockOption {
	return lockOption(func(*lockOptions) error {
		return fmt.Errorf("%s is not available in this version: %w", option, errors.ErrUnsupported)
	})
}
