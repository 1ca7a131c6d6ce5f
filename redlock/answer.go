package redlock

import (
	"errors"
	"fmt"

	"github.com/redquorum/redquorum/internal/pipeline"
)

// A verdict is what one master's answer means for the operation.
type verdict uint8

const (
	pending verdict = iota
	agreed
	refused // another holds the key, or ours is gone
	failed  // no usable answer
)

// An answer is one master's part in a round.
type answer struct {
	verdict verdict
	delayed bool        // failed for now: the call is kept for a later connection
	unsent  bool        // the call came back and the master never saw it
	missing bool        // refused because the key was not there
	late    bool        // came after the decision
	held    *HeldError  // refused because somebody else's was, as far as known
	err     error       // failed because of this
	seen    *MasterHold // what an inspection found
}

// read turns a call that came back into an answer. Only the exact replies
// count: whatever else a server says is a failure.
func (r *round) read(c *pipeline.Call) answer {
	a := answer{unsent: !c.Sent, verdict: failed, err: c.Err}
	if c.Err != nil {
		return a
	}
	switch r.op {
	case opLock:
		switch c.Reply {
		case any("OK"):
			a.verdict = agreed
		case nil:
			a.verdict, a.held = refused, &heldUnknown
		}
	case opHolder:
		if h, ok := readHolder(c.Reply); ok {
			a.verdict, a.held = agreed, h
		}
	case opInspect:
		if h, ok := readMasterHold(c.Reply); ok {
			h.RoundTrip = r.c.opts.clock.Now().Sub(r.start)
			a.verdict, a.seen = agreed, h
		}
	default:
		switch c.Reply {
		case any(int64(1)):
			a.verdict = agreed
		case any(int64(0)):
			a.verdict, a.held = refused, &heldUnknown
		case any(int64(2)), any(int64(3)):
			a.verdict, a.missing = refused, true
		}
	}
	if a.verdict == failed {
		a.err = fmt.Errorf("%w: unexpected reply %.64q", pipeline.ErrProtocol, fmt.Sprint(c.Reply))
	}
	return a
}

// heldUnknown stands for a holder that nobody has asked about yet.
var heldUnknown HeldError

// errMissing is what a master without the key says to its supposed holder.
var errMissing = errors.New("the key is not there")

// errNotAwaited is said of a master whose answer could not change the decision
// any more. It is no failure of the master's, and no cause of one.
var errNotAwaited = errors.New("decided without its answer")

// reason is why a master did not agree; nil if it did. The caller must hold
// r.mu.
func (r *round) reason(i int) error {
	switch a := &r.answers[i]; {
	case a.verdict == agreed:
		return nil
	case a.verdict == pending && r.expired:
		return pipeline.ErrTimeout
	case a.verdict == pending, a.late && a.held == &heldUnknown:
		return errNotAwaited
	case a.held != nil:
		return a.held
	case a.missing:
		return errMissing
	default:
		return a.err
	}
}
