package hold

import (
	"context"
	"slices"

	"github.com/redquorum/redquorum/internal/outcome"
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/wire"
)

// settleFence sets the fencing token of a fenced hold that a quorum has granted: the
// highest that the masters gave. Where less than a quorum store that token, a second round
// raises the others (S8). The failure is that of the second round. The caller then rolls
// back. It also checks the validity again.
//
// A reader gets no new token. Its token may come from a writer whose attempt failed with
// too few masters. Unless a quorum stores it, the next writer or reader may get a lower
// one.
func (h *Hold) settleFence(ctx context.Context, ask *wire.Ask) *outcome.Failure {
	given, agreeing := ask.Given(make([]uint64, 0, 16)) // on the stack
	token := slices.Max(given)
	h.claim.Fence = token
	h.home.cfg.Wire.Fences.Tokens.Add(1)
	if token == 0 { // a reader before any writer
		return nil
	}
	var stored quorum.Bits
	for i, f := range given {
		if f == token {
			stored.Add(i)
		}
	}
	if stored.Len() >= h.home.cfg.Need {
		return nil
	}
	return h.raise(ctx, ask, given, agreeing, stored)
}

// raise is the second round. It concerns the masters that agreed in the first. Those that
// store the token already agree; those that gave a lower one are asked to raise it. The
// other masters do not count.
func (h *Hold) raise(ctx context.Context, first *wire.Ask, given []uint64, agreeing, stored quorum.Bits) *outcome.Failure {
	w := h.home.cfg.Wire
	w.Fences.Raises.Add(1)
	ask := w.Raise(&h.claim, first.Start, given, agreeing, stored)
	defer ask.LetGo()
	cause := ask.Wait(ctx, h.home.Timeout(h.claim.TTL))
	h.owner.Answered(h.owner.Context(), ask)
	if ask.Result().Outcome == quorum.Granted {
		return nil
	}
	f := ask.Failure(h.name, h.refusedAs(ask), cause, h.home.now().Sub(ask.Start))
	f.Note = notStored
	return f
}

// Raise stores a higher fencing token at a quorum, and gives it to the hold. It follows the
// rule of an acquisition's second round (S8): a master raises its fence only where the lock
// is ours and the fence is the one that we were given. The hold keeps its old token until
// then, so a renewal meanwhile writes nothing that makes the comparison fail. Raise blocks
// for the masters' timeout at most. Call it before anybody but traces has the hold.
func (n *Handle) Raise(ctx context.Context, token uint64) *outcome.Failure {
	h := n.hold
	home := h.home
	h.mu.Lock()
	claim, before := h.claim.Again(), h.claim.Fence
	claim.Token, claim.Fence = h.claim.Token, token
	h.mu.Unlock()
	given := make([]uint64, len(home.cfg.Masters))
	for i := range given {
		given[i] = before
	}
	w := home.cfg.Wire
	w.Fences.Raises.Add(1)
	ask := w.Raise(&claim, home.now(), given, w.Everyone(), 0)
	defer ask.LetGo()
	cause := ask.Wait(ctx, home.Timeout(claim.TTL))
	h.owner.Answered(ctx, ask)
	if ask.Result().Outcome != quorum.Granted {
		f := ask.Failure(h.name, outcome.NoQuorum, cause, home.now().Sub(ask.Start))
		f.Note = notStored
		return f
	}
	h.mu.Lock()
	h.claim.Fence = token
	h.mu.Unlock()
	return nil
}

// notStored is what a failure notes.
const notStored = "the fencing token could not be stored at a quorum"
