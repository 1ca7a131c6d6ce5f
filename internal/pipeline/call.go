package pipeline

import "time"

// A Command is what a call asks. All calls that ask the same at a time may have
// one; it is not changed while a pipeline has any of them.
type Command struct {
	Cmd     string // its name, for errors
	Encoded []byte // as AppendCommand makes it
	Owner   Owner

	// Keep is until when the call is worth sending on a later connection when
	// its own is lost; zero: it dies with its connection (invariant S5).
	Keep time.Time

	// Vote: nobody needs the answer of a master that is silent, and what it is asked may
	// set a key. It is not written to a master that has answered nothing for a quarter
	// of StallLimit, but fails with ErrStalled.
	Vote bool

	// Check, if it is not nil, is asked once at the end of the flush that carries
	// the call, and the call is completed when that has been answered too. It asks
	// the same for all calls.
	Check *Check

	// Key is the same for all calls about one key, as a rule not for others; 0:
	// unknown, or several.
	Key uint64
	// Part is how the call can be made one command with others; zero: it cannot.
	Part Part
}

// With is the same for another command, which goes out alone.
func (c *Command) With(cmd string, encoded []byte) *Command {
	return &Command{Cmd: cmd, Encoded: encoded, Owner: c.Owner, Keep: c.Keep, Vote: c.Vote, Check: c.Check, Key: c.Key}
}

// A Call is one command to one master, and what became of it. It belongs to
// the pipeline from Enqueue until Owner.Complete; until then only the fields
// that the owner does not change may be read.
//
// It is small: where thousands are under way, fetching them from memory is much of
// what they cost.
type Call struct {
	*Command
	Slot int // the owner's own number for the master

	// Set before Owner.Complete.
	Reply   any      // as redigo parses it, nil, int64, string, []byte, []any, or *ThreeInts that is the call's
	Err     error    // a redis.Error reply, or one of this package's errors
	Epoch   uint64   // the connection that carried it, counted from 1; 0: none did
	Sent    bool     // whether the master may have seen it, on any connection
	Apart   bool     // it was one command with others, which was refused: it is worth asking alone
	Checked *Checked // what the check said, where there was one and the call has a reply

	sentAt time.Duration // see session.timed
	joint  *joint        // that this is; nil: of a single call
	ints   ThreeInts     // what Reply points to
}

// An Owner is told what becomes of its calls. Its methods are called from the
// pipeline's goroutines, or from inside Enqueue, with no lock held; they must
// not block, and they may enqueue.
type Owner interface {
	// Abandoned reports whether nobody needs the call any more. It is asked
	// right before the call would be written; an abandoned call is completed
	// with ErrAbandoned instead, not sent.
	Abandoned(*Call) bool
	// Delayed tells that the master cannot be reached now, and that the call
	// is kept for a later connection (see Call.Keep). It may come several
	// times, never after Complete.
	Delayed(c *Call, cause error)
	// Complete hands the call back. It comes exactly once.
	Complete(*Call)
}

// Said is what the check said; nothing where there was none, or no reply.
func (c *Call) Said() Checked {
	if c.Checked == nil {
		return Checked{}
	}
	return *c.Checked
}

// finish completes a call that got no reply.
func (c *Call) finish(err error) {
	c.Reply, c.Err, c.Apart = nil, err, false // what a connection said is lost with it
	c.Owner.Complete(c)
}

// kept reports whether the call may still be sent on a later connection.
func (c *Call) kept(now time.Time) bool {
	return !c.Keep.IsZero() && now.Before(c.Keep)
}
