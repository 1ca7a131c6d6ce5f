// Package outcome says in plain facts how a question to all masters failed.
// Package redlock makes its public errors of them; nothing below it does.
package outcome

import "time"

// Kind says what to do about a Failure.
type Kind uint8

// Kinds.
const (
	NoQuorum Kind = iota // too few masters answered
	Taken                // somebody else has the lock
	NotHeld              // too many masters say that it is not held
)

// A Failure is how a question failed.
type Failure struct {
	Op     string
	Key    string // the first of several
	Others int    // keys beside the first

	Kind            Kind
	OK, Need, Total int
	Elapsed         time.Duration
	Parts           []Part // of each master that did not agree
	Cause           error  // what ended the call before: its context's error, or that the client was closed; nil: nothing
	Note            string
	Clock           *Clock // this client's clock is what is wrong; nil: it is not
}

// A Part is what one master contributed.
type Part struct {
	Master int
	Held   *Held // another's lock is in the way; nil: Err is why
	Err    error
}

// Held has the fields of redlock.HeldError, which says what they are: the one is
// converted to the other.
type Held struct {
	Token   string
	Owner   string
	TTL     time.Duration
	Key     string
	Type    string
	Readers int
}

// Clock has those of redlock.ClockError.
type Clock struct {
	Off     time.Duration
	Masters int
	Total   int
	Limit   time.Duration
}
