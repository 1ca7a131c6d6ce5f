package redlock

import (
	"errors"
	"time"

	"github.com/redquorum/redquorum/internal/ballot"
	"github.com/redquorum/redquorum/internal/outcome"
	"github.com/redquorum/redquorum/internal/quorum"
)

// A result is what a decided round came to.
type result struct {
	outcome quorum.Outcome
	tally   quorum.Tally
	refused uint64 // masters that refused, and did not say for whose sake
	slot    int    // which of several keys was granted, counted from 1
	// Masters that granted that key (or all that was asked for), and another.
	here, elsewhere uint64
	absent          uint64 // masters that certainly have nothing of ours
	taken           bool   // some master has another's token
}

// result looks at a decided round.
func (r *round) result() result {
	r.Lock()
	defer r.Unlock()
	res := result{tally: *r.Tally(), slot: r.Tally().Leads}
	res.outcome, _ = r.Outcome()
	for i := range r.Answers() {
		a, f := &r.Answers()[i], &r.facts[i]
		switch {
		case a.Verdict == ballot.Agreed && a.Candidate == res.slot:
			res.here |= 1 << i
		case a.Verdict == ballot.Agreed:
			res.elsewhere |= 1 << i
		}
		if a.Verdict == ballot.Refused {
			if f.held == &heldUnknown {
				res.refused |= 1 << i
			}
			res.taken = res.taken || !f.missing
		}
		if a.Unsent || r.op == opLock && a.Verdict == ballot.Refused {
			res.absent |= 1 << i
		}
	}
	return res
}

// gone reports whether so many masters have answered that they do not keep our
// token that no quorum can.
func (res *result) gone() bool {
	return res.tally.Total-res.tally.Refused < res.tally.Need
}

// kind tells contention from an outage, for an acquisition that failed: by all
// answers that have come by now, since an early decision may have seen refusals
// before failures.
func (r *round) kind() outcome.Kind {
	r.Lock()
	defer r.Unlock()
	if r.Tally().Total-r.Tally().Failed < r.Tally().Need {
		return outcome.NoQuorum
	}
	return outcome.Taken
}

// lossReason is why a lock that is gone is gone.
func (res *result) lossReason() Reason {
	if res.taken {
		return ReasonTaken
	}
	return ReasonExpired
}

// err describes a round that did not come to what it was for.
func (r *round) err(key string, kind outcome.Kind, cause error, elapsed time.Duration) *outcome.Failure {
	r.Lock()
	defer r.Unlock()
	e := &outcome.Failure{
		Op: r.op.String(), Key: key,
		OK: r.Tally().OK, Need: r.Tally().Need, Total: r.Tally().Total,
		Elapsed: elapsed, Kind: kind, Cause: cause,
	}
	if kind == outcome.NoQuorum {
		e.Clock = r.clockError()
	}
	for i := range r.Answers() {
		switch held, err := r.reason(i); {
		case held != nil || err != nil && !errors.Is(err, ErrNotAwaited):
			e.Parts = append(e.Parts, outcome.Part{Master: i, Held: held, Err: err})
		case err == nil:
			e.Agreed |= 1 << i
		}
	}
	return e
}
