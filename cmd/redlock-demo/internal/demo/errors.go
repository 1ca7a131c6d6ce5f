package demo

import (
	"fmt"
	"strings"
	"time"
)

// An InputError is one that only other options or other masters mend; nothing
// has been done. Its text is one line and holds no password.
type InputError struct{ Err error }

func (e *InputError) Error() string { return e.Err.Error() }

// Unwrap gives Err.
func (e *InputError) Unwrap() error { return e.Err }

// A NoQuorumError says that there was no quorum to begin with.
type NoQuorumError struct {
	Waited  time.Duration
	Quorum  int
	Masters []Master
}

// Reached is how many masters answered.
func (e *NoQuorumError) Reached() int {
	up := 0
	for _, m := range e.Masters {
		if m.State == stateUp {
			up++
		}
	}
	return up
}

func (e *NoQuorumError) Error() string {
	up := e.Reached()
	var causes []string
	for _, m := range e.Masters {
		if m.State != stateUp {
			causes = append(causes, m.Address+": "+m.Cause)
		}
	}
	return fmt.Sprintf("no quorum within %v: %d of %s answered, %d needed (%s)",
		e.Waited, up, count(len(e.Masters), "master"), e.Quorum, strings.Join(causes, "; "))
}

// inputError is redlock.Open's error in the words of the command.
func inputError(err error) error {
	text := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "redlock: "), "pool: ")
	text = strings.Replace(text, "WithTTL: ", "a TTL of ", 1)
	return &InputError{&reworded{text, err}}
}

// reworded is an error in other words.
type reworded struct {
	text string
	err  error
}

func (e *reworded) Error() string { return e.text }
func (e *reworded) Unwrap() error { return e.err }
