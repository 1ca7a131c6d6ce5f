// Package outcome says in plain facts how a question to all masters failed.
//
// It has no behaviour. Package redlock makes its
// public errors from these facts; no other room makes or reads a public error.
package outcome

import (
	"time"

	"github.com/redquorum/redquorum/internal/quorum"
)

// A Kind says which public error a Failure becomes.
type Kind uint8

// Kinds.
const (
	NoQuorum Kind = iota // too few masters answered, or may vote
	Taken                // another holds the lock
	NotHeld              // too many masters say that the lock is not held
)

// A Failure says how a question failed. Callers that wait for the same lock may share it;
// then it does not change any more.
type Failure struct {
	Op     string
	Key    string // the first of several
	Others int    // keys beside the first

	Kind            Kind
	OK, Need, Total int           // masters: that agreed, that had to, that there are
	Elapsed         time.Duration // since the question's start
	Agreed          quorum.Bits   // masters that agreed
	Parts           []Part        // one for each master that is known not to have agreed; those in neither were not awaited
	Cause           error         // what ended the call early: its context's error, or why the client closed; nil: nothing
	Note            string        // a further reason, for people; "": none
	Clock           *Clock        // this client's clock is what is wrong; nil: it is not
}

// A Part says what one master contributed to a failure.
type Part struct {
	Master int   // its index
	Held   *Held // another's lock is in the way; nil: Err says why it did not agree
	Err    error
}

// Held describes the lock of another holder. redlock.HeldError has the same fields and
// says what they mean; redlock converts one to the other.
type Held struct {
	Token   string
	Owner   string
	TTL     time.Duration
	Key     string
	Type    string
	Readers int
	Own     bool
}

// Clock describes a client's clock that is wrong. redlock.ClockError has the same fields
// and says what they mean; redlock converts one to the other.
type Clock struct {
	Off     time.Duration
	Masters int
	Total   int
	Limit   time.Duration
}
