package wire

import (
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/guard"
)

// A clockCheck compares the clocks of the masters that answer a scripted question with
// this client's, in strict.
type clockCheck struct {
	sent  time.Time     // wall clock before the command was written
	skew  time.Duration // S, of strict; 0: clocks are not compared
	floor uint64        // the token that a reply of 0 means, if the acquisition may be in a batch
}

// newClockCheck reads the wall clock. The caller sends the question at once.
func (w *Wire) newClockCheck(ttl time.Duration) clockCheck {
	var k clockCheck
	if w.cfg.Strict {
		k.sent, k.skew = w.cfg.Ballots.Clock.Now().Wall(), guard.Skew(ttl)
	}
	return k
}

// compare checks the clock that a master read after we had sent the question and before we
// received the answer. It returns a *guard.AbstainError.
func (k *clockCheck) compare(master, received time.Time) error {
	if by := (drift.Span{Low: master.Sub(received), High: master.Sub(k.sent)}); by.Beyond(k.skew) {
		return k.off(by)
	}
	return nil
}

// off returns the error of a master whose clock differs by more than S. If by is zero, the difference is not known.
func (k *clockCheck) off(by drift.Span) error {
	return &guard.AbstainError{Cause: guard.OffClock, By: by, Want: k.skew.String()}
}
