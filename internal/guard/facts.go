package guard

import "github.com/redquorum/redquorum/drift"

// Facts are what is known of one master by its present connection. Nothing of
// an earlier connection belongs here: it may have led to another process. The
// errors are shown, and reached by errors.Is through AbstainError: none may be a
// context's, since one master's timeout is not the caller's.
type Facts struct {
	Master string // address: unique, for people

	Connected bool
	Err       error // why it is not

	Info    Info
	InfoErr error // why INFO, or a part of it, could not be read

	Marker    Marker // what the newest script answered; set it by Answer
	MarkerErr error  // why none did
	// Changed: Check has found another marker than this one since.
	Changed bool

	// Clock is the newest look at the master's clock; zero: that of Marker.
	Clock drift.Reading

	// missingFrom is when the first of the newest MISSING answers in a row was
	// received; zero: the newest is another.
	missingFrom drift.Instant
}

func (f Facts) clock() drift.Reading {
	if f.Clock.Received.IsZero() {
		return f.Marker.Clock
	}
	return f.Clock
}
