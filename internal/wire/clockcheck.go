package wire

import (
	"fmt"
	"slices"
	"time"

	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/outcome"
)

// A clockCheck compares the clocks of the masters that answer a scripted question with
// this client's, in strict.
type clockCheck struct {
	sent  time.Time     // wall clock before the command was written
	skew  time.Duration // S, of strict; 0: clocks are not compared
	floor uint64        // the token that 0 stands for, of an acquisition that may be in a batch
}

// newClockCheck reads the wall clock. The caller sends the question at once.
func (w *Wire) newClockCheck(ttl time.Duration) clockCheck {
	var k clockCheck
	if w.cfg.Strict {
		k.sent, k.skew = w.cfg.Ballots.Clock.Now().Wall(), guard.Skew(ttl)
	}
	return k
}

// compare is for a master that read its clock between when we sent the question and
// when we received the answer. It returns a *SkewError.
func (k *clockCheck) compare(master, received time.Time) error {
	if off := master.Sub(k.sent); off < -k.skew {
		return &SkewError{Off: off, Limit: k.skew}
	}
	if off := master.Sub(received); off > k.skew {
		return &SkewError{Off: off, Limit: k.skew}
	}
	return nil
}

// A SkewError is the reason of a master whose clock differs by more than strict allows. Its
// fields are those of redlock.SkewError, where they are explained.
type SkewError struct {
	Off   time.Duration
	Limit time.Duration
}

func (e *SkewError) Error() string {
	switch {
	case e.Off > 0:
		return fmt.Sprintf("its clock is %v ahead of this client's, %v allowed", e.Off.Round(time.Millisecond), e.Limit)
	case e.Off < 0:
		return fmt.Sprintf("its clock is %v behind this client's, %v allowed", (-e.Off).Round(time.Millisecond), e.Limit)
	default:
		return fmt.Sprintf("its clock and this client's differ by more than %v", e.Limit)
	}
}

// clientClock is not nil if a quorum of masters differ from this client's clock in the same
// direction. The ask must be locked.
func (a *Ask) clientClock() *outcome.Clock {
	var ahead, behind []time.Duration // of ours
	for i := range a.Answers() {
		skewed, ok := a.Answers()[i].Err.(*SkewError) //nolint:errorlint // it is never wrapped
		switch {
		case !ok || skewed.Off == 0:
		case skewed.Off < 0:
			ahead = append(ahead, -skewed.Off)
		default:
			behind = append(behind, -skewed.Off)
		}
	}
	offs := ahead
	if len(behind) > len(ahead) {
		offs = behind
	}
	if len(offs) < a.Tally().Need {
		return nil
	}
	slices.Sort(offs)
	return &outcome.Clock{Off: offs[len(offs)/2], Masters: len(offs), Total: a.Tally().Total, Limit: a.clock.skew}
}
