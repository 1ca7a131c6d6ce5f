package redlock

import (
	"errors"
	"fmt"
	"time"

	"github.com/redquorum/redquorum/internal/mutant"
	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/script"
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
	delayed bool          // failed for now: the call is kept for a later connection
	unsent  bool          // the call came back and the master never saw it
	missing bool          // refused because the key was not there
	late    bool          // came after the decision
	took    time.Duration // since the question; 0 where no trace wants to know
	fence   uint64        // the highest token of its fence, of the lock that it agreed to
	slot    int           // agreed to this one of several keys, counted from 1; 0: to what was asked for
	held    *HeldError    // refused because somebody else's was, as far as known
	err     error         // failed because of this
	seen    *MasterHold   // what an inspection found
}

// read turns a call that came back into an answer. Only the exact replies
// count: whatever else a server says is a failure.
func (r *round) read(c *pipeline.Call) answer {
	a := answer{unsent: !c.Sent, verdict: failed, err: c.Err}
	if c.Err != nil {
		return a
	}
	switch {
	case r.guarded:
		r.readGuarded(&a, c.Reply)
		return a
	case r.op == opRaise:
		readRaise(&a, c.Reply)
		return a
	}
	switch r.op {
	case opLock:
		r.readGrant(&a, c.Reply)
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
		a.readCode(r.op, c.Reply)
	}
	if a.verdict == failed {
		a.err = unexpected(c.Reply)
	}
	return a
}

// readCode reads what scripts say of a lock that is ours. That it was missing and
// is set again only those can say that set it.
func (a *answer) readCode(op operation, code any) {
	setsAgain := op == opExtend || op == opDowngrade
	switch {
	case code == any(int64(1)):
		a.verdict = agreed
	case code == any(int64(0)):
		a.verdict, a.held = refused, &heldUnknown
	case code == any(int64(3)), setsAgain && code == any(int64(2)):
		a.verdict, a.missing = refused, true
		if mutant.Is(mutant.ResetCounts) && code == any(int64(2)) {
			a.verdict, a.missing = agreed, false
		}
	}
}

func unexpected(reply any) error {
	return fmt.Errorf("%w: unexpected reply %.64q", pipeline.ErrProtocol, fmt.Sprint(reply))
}

// readGrant reads the answer to an acquisition: by SET NX, by a script that
// grants all or nothing, or by one that grants one of several keys.
func (r *round) readGrant(a *answer, reply any) {
	n, isNumber := reply.(int64)
	switch slots := int64(len(r.votes)); {
	case r.script == nil && reply == any("OK"),
		r.script != nil && slots == 0 && isNumber && n == 1:
		a.verdict = agreed
	case isNumber && 1 <= n && n <= slots:
		a.verdict, a.slot = agreed, int(n)
	case r.script == nil && reply == nil, r.script != nil && isNumber && n == 0:
		a.verdict, a.held = refused, &heldUnknown
	case r.script == script.ReaderAcquire && isNumber && n == 4:
		a.verdict, a.held = refused, &writerWaits
	}
}

// heldUnknown stands for a holder that nobody has asked about yet, writerWaits
// for a writer that keeps readers out.
var heldUnknown, writerWaits = HeldError{}, HeldError{Type: "intent"}

// errMissing is what a master without the key says to its supposed holder.
var errMissing = errors.New("the key is not there")

// errNotAwaited is said of a master whose answer could not change the decision
// any more. It is no failure of the master's, and no cause of one.
var errNotAwaited = errors.New("decided without its answer")

// reason is why a master did not agree; nil if it did. The caller must hold
// r.mu.
func (r *round) reason(i int) error {
	switch a := &r.answers[i]; {
	case a.verdict == agreed && a.slot != r.slot:
		return errElsewhere
	case a.verdict == agreed:
		return nil
	case a.verdict == pending && r.expired:
		return pipeline.ErrTimeout
	case a.missing && r.op == opRaise: // it had no part in the first round either
		return errNotAwaited
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
