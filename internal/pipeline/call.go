package pipeline

import "time"

// A Command is what a call sends. Calls that send the same at the same time may share one. It
// does not change while a pipeline has any of these calls.
type Command struct {
	Cmd     string // its name, for errors
	Encoded []byte // as AppendCommand makes it
	Owner   Owner

	// RetryUntil is the time until which the call is kept: if its connection is lost, it may be
	// sent on a later one. Zero: it fails with its connection (invariant S5).
	RetryUntil time.Time

	// Vote: the command may set a key, and a late answer to it is useless. If the
	// master has answered nothing for a quarter of StallLimit, the call is not written and
	// fails with ErrStalled.
	Vote bool

	// Check, if it is not nil, is sent once at the end of the flush that carries the call.
	// The call is completed when the check is answered too. All calls of a flush share it.
	Check *Check

	// Key is a hash of the key that the call is about; 0: unknown, or several keys. Two keys
	// rarely have the same hash.
	Key uint64
	// Batch says how the call can be joined with others into one command; zero: it cannot.
	Batch BatchPart
}

// With returns a copy with another command, which cannot be part of a batch.
func (c *Command) With(cmd string, encoded []byte) *Command {
	return &Command{
		Cmd: cmd, Encoded: encoded, Owner: c.Owner, RetryUntil: c.RetryUntil,
		Vote: c.Vote, Check: c.Check, Key: c.Key,
	}
}

// A Call is one command to one master, and its result. It belongs to the pipeline from Enqueue
// until Owner.Complete. Until then others may read only the fields that do not change.
//
// It is small: with thousands in flight, loading them from memory is much of their cost.
type Call struct {
	*Command
	Slot int // the owner's own number for the master

	// Set before Owner.Complete.
	Reply        any    // as redigo parses it, nil, int64, string, []byte, []any, or *ThreeInts that is the call's
	Err          error  // a redis.Error reply, or one of this package's errors
	Epoch        uint64 // the connection that carried it, counted from 1; 0: none did
	Sent         bool   // whether the master may have seen it, on any connection
	Again        bool   // it had been written before, and may have been executed then
	BatchRefused bool   // its batch was refused; retry it alone

	refusals uint8 // how often it was postponed; 7: the pause grows no more

	Checked *Checked // the result of the check, if there was one and the call has a reply

	sentAt time.Duration // see session.timed
	batch  *batch        // the batch that this call is; nil: a single call
	ints   ThreeInts     // what Reply points to
}

// An Owner is notified of what happens to its calls. The pipeline's goroutines, or Enqueue itself,
// call its methods, with no lock held. The methods must not block. They may enqueue.
type Owner interface {
	// Abandoned reports whether nobody needs the call any more. It is called right before
	// the call would be written. An abandoned call is not sent, and completes with
	// ErrAbandoned.
	Abandoned(*Call) bool
	// Delayed says that the master cannot be reached now, and that the call is kept for a
	// later connection (see Command.RetryUntil). It may come several times, never after Complete.
	Delayed(c *Call, cause error)
	// Complete hands the call back. It comes exactly once, and once more after each Enqueue
	// or RetryLater from inside it.
	Complete(*Call)
}

// Said returns the result of the check; zero if there was no check, or no reply.
func (c *Call) Said() Checked {
	if c.Checked == nil {
		return Checked{}
	}
	return *c.Checked
}

// finish completes a call that got no reply.
func (c *Call) finish(err error) {
	c.Reply, c.Err, c.BatchRefused = nil, err, false // the answers of a lost connection do not count
	c.Owner.Complete(c)
}

// mayRetry reports whether the call may still be sent on a later connection.
func (c *Call) mayRetry(now time.Time) bool {
	return !c.RetryUntil.IsZero() && now.Before(c.RetryUntil)
}
