package redlock

import (
	"errors"
	"fmt"

	"github.com/redquorum/redquorum/internal/ballot"
	"github.com/redquorum/redquorum/internal/outcome"
	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/script"
)

// An answer is a ballot's, and what else the reply says.
type answer struct {
	ballot.Answer
	*fact
}

// read turns a reply into an answer. Only the exact replies count: whatever else a
// server says is a failure.
func (r *round) read(f *fact, reply any) ballot.Answer {
	a := answer{ballot.Answer{Verdict: ballot.Failed}, f}
	switch {
	case r.guarded:
		r.readGuarded(&a, reply)
		return a.Answer
	case r.op == opRaise:
		readRaise(&a, reply)
		return a.Answer
	}
	switch r.op {
	case opLock:
		r.readGrant(&a, reply)
	case opHolder:
		if h, ok := readHolder(reply); ok {
			a.Verdict, a.held = ballot.Agreed, h
		}
	case opInspect:
		if h, ok := readMasterHold(reply); ok {
			h.RoundTrip = r.c.opts.clock.Now().Sub(r.Start)
			a.Verdict, a.seen = ballot.Agreed, h
		}
	default:
		a.readCode(r.op, reply)
	}
	if a.Verdict == ballot.Failed {
		a.Err = unexpected(reply)
	}
	return a.Answer
}

// readCode reads what scripts say of a lock that is ours. That it was missing and
// is set again only those can say that set it.
func (a *answer) readCode(op operation, code any) {
	setsAgain := op == opExtend || op == opDowngrade
	switch {
	case code == any(int64(1)):
		a.Verdict = ballot.Agreed
	case code == any(int64(0)):
		a.Verdict, a.held = ballot.Refused, &heldUnknown
	case code == any(int64(3)), setsAgain && code == any(int64(2)):
		a.Verdict, a.missing = ballot.Refused, true
	}
}

func unexpected(reply any) error {
	return fmt.Errorf("%w: unexpected reply %.64q", pipeline.ErrProtocol, fmt.Sprint(reply))
}

// readGrant reads the answer to an acquisition: by SET NX, by a script that
// grants all or nothing, or by one that grants one of several keys.
func (r *round) readGrant(a *answer, reply any) {
	n, isNumber := reply.(int64)
	switch slots := int64(len(r.Tally().Votes)); {
	case r.script == nil && reply == any("OK"),
		r.script != nil && slots == 0 && isNumber && n == 1:
		a.Verdict = ballot.Agreed
	case isNumber && 1 <= n && n <= slots:
		a.Verdict, a.Candidate = ballot.Agreed, int(n)
	case r.script == nil && reply == nil, r.script != nil && isNumber && n == 0:
		a.Verdict, a.held = ballot.Refused, &heldUnknown
	case r.script == script.ReaderAcquire && isNumber && n == 4:
		a.Verdict, a.held = ballot.Refused, &writerWaits
	}
}

// heldUnknown stands for a holder that nobody has asked about yet, writerWaits
// for a writer that keeps readers out.
var heldUnknown, writerWaits = outcome.Held{}, outcome.Held{Type: "intent"}

// errMissing is what a master without the key says to its supposed holder.
var errMissing = errors.New("the key is not there")

// reason is why a master did not agree; nil if it did. The caller must hold
// r.mu.
func (r *round) reason(i int) (*outcome.Held, error) {
	a, f := &r.Answers()[i], &r.facts[i]
	_, expired := r.Outcome()
	switch {
	case a.Verdict == ballot.Agreed && a.Candidate != r.Tally().Leads:
		return nil, errElsewhere
	case a.Verdict == ballot.Agreed:
		return nil, nil
	case a.Verdict == ballot.Pending && expired:
		return nil, pipeline.ErrTimeout
	case a.Verdict == ballot.Failed: // whatever the reply said, if its master may not vote
		return nil, a.Err
	case f.missing && r.op == opRaise: // it had no part in the first round either
		return nil, ErrNotAwaited
	case a.Verdict == ballot.Pending, a.Late && f.held == &heldUnknown:
		return nil, ErrNotAwaited
	case f.held != nil:
		return f.held, nil
	case f.missing:
		return nil, errMissing
	default:
		return nil, a.Err
	}
}

// publicReason is reason as users see it.
func (r *round) publicReason(i int) error {
	held, err := r.reason(i)
	return r.c.publicPart(outcome.Part{Held: held, Err: err})
}
