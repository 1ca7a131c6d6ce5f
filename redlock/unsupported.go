package redlock

import (
	"context"
	"errors"
	"fmt"
)

// unsupported is the answer of what this version does not offer yet; it
// matches errors.ErrUnsupported. Nothing has been done.
func unsupported(what string) error {
	return fmt.Errorf("redlock: %s is not available in this version: %w", what, errors.ErrUnsupported)
}

// Init declares a new fleet of masters. Not available in this version: the
// error matches errors.ErrUnsupported.
func (c *Client) Init(_ context.Context) error { return unsupported("Init") }

// A GuardLevel says how much a master has to prove before its vote counts.
type GuardLevel uint8

// Guard levels.
const (
	// GuardOff believes every master. It is all that this version offers:
	// mutual exclusion needs masters that forget nothing when they restart
	// (appendfsync always, or a restart delayed by more than the longest TTL),
	// evict nothing and are not replaced by a replica.
	GuardOff GuardLevel = iota
	// GuardStandard will not count masters that have restarted lately, may
	// evict keys or are no masters. Not available in this version.
	GuardStandard
	// GuardStrict will compare clocks with every grant too. Not available in
	// this version.
	GuardStrict
)

// WithGuard sets the guard level. This version knows GuardOff only; for the
// others the error matches errors.ErrUnsupported.
func WithGuard(level GuardLevel) Option {
	return clientOption(func(*clientOptions) error {
		switch level {
		case GuardOff:
			return nil
		case GuardStandard, GuardStrict:
			return fmt.Errorf("WithGuard: this level is not available in this version: %w", errors.ErrUnsupported)
		default:
			return fmt.Errorf("WithGuard: %d: want GuardOff, GuardStandard or GuardStrict", level)
		}
	})
}
