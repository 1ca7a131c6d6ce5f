package quorum

import (
	"time"
)

// A Kind says which public error a Failure becomes.
type Kind uint8

// Kinds.
const (
	NoQuorum Kind = iota // too few masters answered, or may vote
	Taken                // another holder has the lock
	NotHeld              // too many masters say that the lock is not held
)

// A Failure says how a question failed. Callers that wait for the same lock may share it;
// then it does not change any more.
type Failure struct {
	Op     string
	Key    string // the first of several
	Others int    // keys beside the first

	Kind            Kind
	OK, Need, Total int           // numbers of masters: agreed, needed, in all
	Elapsed         time.Duration // since the question's start
	Agreed          MasterSet     // masters that agreed
	Parts           []Part        // one for each master known not to have agreed; masters in neither were not awaited
	Cause           error         // what ended it early: its context's error, or why the client closed; nil: nothing
	Note            string        // a further reason, for people; "": none
}

// A Part says what one master contributed to a failure.
type Part struct {
	Master int   // its index
	Held   *Held // another's lock is in the way; nil: Err says why it did not agree
	Err    error
}

// Held describes the lock of another holder. redlock.Holder has the same fields and
// says what they mean; redlock converts one to the other.
type Held struct {
	Token   string
	Owner   string
	TTL     time.Duration
	Key     string
	Type    string
	Readers int
	Masters int
	Own     bool
	Stuck   bool
}
