package hold

import (
	"context"
	"time"

	"github.com/redquorum/redquorum/internal/quorum"
)

// Calls that contend for a free lock at the same time may split the votes, so that nobody gets
// it. A call that waits tries again anyway. A call that does not wait repeats its attempt after
// a random pause, which separates the calls.

// pauseAfter returns the pause before a failed attempt is repeated; 0: it is not.
func (a *attempt) pauseAfter(ctx context.Context, f *quorum.Failure, elapsed time.Duration) time.Duration {
	if a.repeats == 0 || f.Kind != quorum.Taken || f.Cause != nil || a.mayBeHeld(ctx, f, elapsed) {
		return 0
	}
	manager := a.hold.manager
	took := max(manager.now().Sub(a.hold.life.start), 1)
	pause := took + manager.cfg.Chance.N("repeat", 3*took)
	if pause+took >= a.patience() { // there would be no time for it
		return 0
	}
	return pause
}

// mayBeHeld reports whether somebody may have the lock: whether the masters that name one holder
// and the masters that have said nothing are together a quorum. If the refusals name several
// holders, it asks those others too, because the attempt was decided before they answered.
func (a *attempt) mayBeHeld(ctx context.Context, f *quorum.Failure, elapsed time.Duration) bool {
	named, most := make(map[string]int), 0
	silent := quorum.All(f.Total) &^ f.Agreed
	addAnswer := func(master int, h *quorum.Held) {
		if h == nil || h.Type == "" {
			return
		}
		silent.Remove(master)
		if h.Type == "none" {
			return
		}
		holder := h.Token // of a lock or of a lease
		if holder == "" {
			holder = h.Type // readers are one holder
		}
		named[holder]++
		most = max(most, named[holder])
	}
	for _, p := range f.Parts {
		addAnswer(p.Master, p.Held)
	}
	if len(named) > 1 && most < f.Need && most+silent.Len() >= f.Need {
		ask := a.hold.manager.cfg.Wire.Holders(&a.hold.claim, quorum.All(f.Total)&^silent)
		defer ask.Done()
		_ = ask.Wait(ctx, min(a.patience(), leastWait+2*elapsed))
		for i, h := range ask.Held() {
			addAnswer(i, h)
		}
	}
	return most+silent.Len() >= f.Need
}
