package fleets

import (
	"errors"
	"fmt"
	"strings"

	"github.com/redquorum/redquorum/redlock"
)

// A FleetError is an error of one fleet. Fleet is the name of its shard, and "from"
// or "to" for the sides of a Moving. Where one is inside another, the names are
// joined by "/". It matches what Err does.
type FleetError struct {
	Fleet string
	Err   error
}

// Error is one line.
func (e *FleetError) Error() string {
	return fmt.Sprintf("redlock: fleet %q: %s", e.Fleet, plain(e.Err))
}

// Unwrap gives Err.
func (e *FleetError) Unwrap() error { return e.Err }

// plain returns an error's text without the prefix "redlock: ", which the error around it
// has.
func plain(err error) string { return strings.TrimPrefix(err.Error(), "redlock: ") }

// inFleet adds the fleet's path to an error, unless the path is empty. It returns nil for
// nil.
func inFleet(path string, err error) error {
	if err == nil || path == "" {
		return err
	}
	if inner, ok := err.(*FleetError); ok { //nolint:errorlint // what wraps one is named already
		return &FleetError{Fleet: path + "/" + inner.Fleet, Err: inner.Err}
	}
	return &FleetError{Fleet: path, Err: err}
}

// A severalError has the errors of several fleets, on one line.
type severalError struct{ errs []error }

func (e *severalError) Error() string {
	texts := make([]string, len(e.errs))
	for i, err := range e.errs {
		texts[i] = plain(err)
	}
	return "redlock: " + strings.Join(texts, "; ")
}

func (e *severalError) Unwrap() []error { return e.errs }

// joined makes one error of the errors of a hold's fleets; nil if there are none. If the
// hold was lost in one fleet, the others were released: so their ErrUnlocked is left out.
func joined(errs []error) error {
	var all, lost []error
	for _, err := range errs {
		if err == nil {
			continue
		}
		all = append(all, err)
		if errors.Is(err, redlock.ErrLost) {
			lost = append(lost, err)
		}
	}
	if lost != nil {
		all = lost
	}
	switch len(all) {
	case 0:
		return nil
	case 1:
		return all[0]
	default:
		return &severalError{all}
	}
}

// badError returns an error for a bad argument: its name, its value, and what is wrong.
func badError(format string, args ...any) error {
	return fmt.Errorf("redlock: fleets: "+format, args...)
}
