package redlock

import (
	"errors"
	"time"

	"github.com/hashicorp/go-multierror"

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
	r.mu.Lock()
	defer r.mu.Unlock()
	res := result{outcome: r.outcome, tally: r.tally, slot: r.slot}
	for i := range r.answers {
		a := &r.answers[i]
		switch {
		case a.verdict == agreed && a.slot == r.slot:
			res.here |= 1 << i
		case a.verdict == agreed:
			res.elsewhere |= 1 << i
		}
		if a.verdict == refused {
			if a.held == &heldUnknown {
				res.refused |= 1 << i
			}
			res.taken = res.taken || !a.missing
		}
		if a.unsent || r.op == opLock && a.verdict == refused {
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
func (r *round) kind() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.tally.Total-r.tally.Failed < r.tally.Need {
		return ErrNoQuorum
	}
	return ErrTaken
}

// lossReason is why a lock that is gone is gone.
func (res *result) lossReason() Reason {
	if res.taken {
		return ReasonTaken
	}
	return ReasonExpired
}

// err describes a round that did not come to what it was for.
func (r *round) err(key string, kind, cause error, elapsed time.Duration) *QuorumError {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := &QuorumError{
		Op: r.op.String(), Key: key,
		OK: r.tally.OK, Need: r.tally.Need, Total: r.tally.Total,
		Elapsed: elapsed, kind: kind, cause: cause,
	}
	if errors.Is(kind, ErrNoQuorum) {
		e.clock = r.clockError()
	}
	for i := range r.answers {
		if err := r.reason(i); err != nil && !errors.Is(err, errNotAwaited) {
			if e.Nodes == nil {
				e.Nodes = &multierror.Error{ErrorFormat: joinNodes}
			}
			e.Nodes.Errors = append(e.Nodes.Errors, &NodeError{Master: r.c.masters[i].Name(), Op: e.Op, Err: err})
		}
	}
	return e
}
