package wire

import (
	"errors"
	"time"

	"github.com/redquorum/redquorum/internal/ballot"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/quorum"
)

// A Result is the result of a decided Ask.
type Result struct {
	Outcome quorum.Outcome
	Tally   quorum.Tally
	Refused quorum.MasterSet // masters that refused and did not say who holds the key
	Absent  quorum.MasterSet // masters that certainly have nothing of ours
	Taken   bool             // some master has another's token
}

// Result returns the result of a decided Ask.
func (a *Ask) Result() Result {
	a.Lock()
	defer a.Unlock()
	res := Result{Tally: *a.Tally()}
	res.Outcome, _ = a.Outcome()
	for i := range a.Answers() {
		answer, f := &a.Answers()[i], &a.facts[i]
		if answer.Verdict == ballot.Refused {
			if f.held == &heldUnknown {
				res.Refused.Add(i)
			}
			res.Taken = res.Taken || !f.missing
		}
		acquires := a.op == OpLock || a.op == OpAdopt
		if answer.Unsent || acquires && (answer.Verdict == ballot.Refused || pipeline.WroteNothing(answer.Err)) {
			res.Absent.Add(i)
		}
	}
	return res
}

// Gone reports whether so many masters have answered that they do not have our token that
// no quorum can have it.
func (res *Result) Gone() bool {
	gone, _ := res.Tally.Gone()
	return gone
}

// FailureKind tells contention from an outage after a failed acquisition. It counts all answers
// so far, because an early decision may have seen only the refusals.
func (a *Ask) FailureKind() quorum.Kind {
	a.Lock()
	defer a.Unlock()
	if a.Tally().Total-a.Tally().Failed < a.Tally().Need {
		return quorum.NoQuorum
	}
	return quorum.Taken
}

// Failure describes an Ask that has failed.
func (a *Ask) Failure(key string, kind quorum.Kind, cause error, elapsed time.Duration) *quorum.Failure {
	a.Lock()
	defer a.Unlock()
	e := &quorum.Failure{
		Op: a.op.String(), Key: key,
		OK: a.Tally().OK, Need: a.Tally().Need, Total: a.Tally().Total,
		Elapsed: elapsed, Kind: kind, Cause: cause,
	}
	var off []*guard.AbstainError
	for i := range a.Answers() {
		switch held, err := a.reason(i); {
		case held != nil || err != nil && !errors.Is(err, ErrNotAwaited):
			why, ok := err.(*guard.AbstainError) //nolint:errorlint // it is never wrapped
			if ok && why.Cause == guard.OffClock {
				own := *why // a copy: others may read the original
				off, err = append(off, &own), &own
			}
			e.Parts = append(e.Parts, quorum.Part{Master: i, Held: held, Err: err})
		case err == nil:
			e.Agreed.Add(i)
		}
	}
	guard.SuspectOurselves(off, e.Need)
	return e
}

var (
	// ErrNotAwaited is the reason of a master whose answer was not needed.
	ErrNotAwaited = errors.New("not awaited")
	// errMissing is the reason of a master that does not have the holder's key.
	errMissing = errors.New("the key is not there")
)

// A Part is one master's part in an Ask, as of some moment: Held and Err are nil if it agreed.
type Part struct {
	quorum.Part
	Refused bool          // it answered, and another holds the key, or ours is not there
	Took    time.Duration // until it answered; 0 unless ballot.Config.Timed
	State   *KeyState     // what an inspection found; nil: it has not answered
}

// Parts appends the parts of all masters, in their order.
func (a *Ask) Parts(parts []Part) []Part {
	a.Lock()
	defer a.Unlock()
	for i := range a.facts {
		held, err := a.reason(i)
		answer := &a.Answers()[i]
		refused := answer.Verdict == ballot.Refused && !errors.Is(err, ErrNotAwaited)
		part := quorum.Part{Master: i, Held: held, Err: err}
		parts = append(parts, Part{part, refused, answer.Took, a.facts[i].state})
	}
	return parts
}

// reason returns why a master did not agree; nil if it did. The ask must be locked.
func (a *Ask) reason(master int) (*quorum.Held, error) {
	answer, f := &a.Answers()[master], &a.facts[master]
	_, expired := a.Outcome()
	switch {
	case answer.Verdict == ballot.Agreed:
		return nil, nil
	case answer.Verdict == ballot.Pending && expired:
		return nil, pipeline.ErrTimeout
	case answer.Verdict == ballot.Failed: // also if it replied, but may not vote
		return nil, answer.Err
	case f.missing && a.op == OpRaise: // it did not agree in the first round
		return nil, ErrNotAwaited
	case answer.Verdict == ballot.Pending, answer.Late && f.held == &heldUnknown:
		return nil, ErrNotAwaited
	case f.held != nil:
		return f.held, nil
	case f.missing:
		return nil, errMissing
	default:
		return nil, answer.Err
	}
}
