package hold

import (
	"context"
	"slices"

	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/wire"
)

// settleFence sets the fencing token of a fenced hold that a quorum has granted: the highest
// that the masters gave. If less than a quorum stores that token, a second round raises the
// others (S8). It returns the failure of the second round; the caller then rolls back. The
// caller also checks the validity again.
//
// A reader gets no new token. Its token may come from a writer whose attempt failed with too
// few masters. Unless a quorum stores it, the next writer or reader may get a lower one.
func (a *attempt) settleFence(ctx context.Context, ask *wire.Ask) *quorum.Failure {
	h := a.hold
	given, agreeing := ask.Given(make([]uint64, 0, 16)) // on the stack
	token := slices.Max(given)
	h.claim.Fence = token
	h.manager.cfg.Wire.Fences.Tokens.Add(1)
	if token == 0 { // a reader before any writer
		return nil
	}
	var stored quorum.MasterSet
	for i, f := range given {
		if f == token {
			stored.Add(i)
		}
	}
	if stored.Len() >= h.manager.cfg.Need {
		return nil
	}
	return a.raise(ctx, ask, given, agreeing, stored)
}

// raise is the second round. Masters in stored have the token already and count as agreed. The
// others that agreed in the first round gave a lower token, and are asked to raise it. Masters
// that did not agree are not asked.
func (a *attempt) raise(
	ctx context.Context, first *wire.Ask, given []uint64, agreeing, stored quorum.MasterSet,
) *quorum.Failure {
	h := a.hold
	w := h.manager.cfg.Wire
	w.Fences.Raises.Add(1)
	ask := w.Raise(&h.claim, first.Start, given, agreeing, stored)
	defer ask.Done()
	cause := ask.Wait(ctx, a.patience())
	h.owner.Answered(h.owner.Context(), ask)
	if ask.Result().Outcome == quorum.Granted {
		return nil
	}
	f := ask.Failure(h.name, h.refusedAs(ask), cause, h.manager.now().Sub(ask.Start))
	f.Note = notStored
	return f
}

// notStored is the note of such a failure.
const notStored = "the fencing token could not be stored at a quorum"
