package hold

import (
	"context"
	"math/bits"

	"github.com/redquorum/redquorum/internal/outcome"
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/wire"
)

// settleFence sets the fencing token of a fenced hold that has a quorum: the highest that
// the masters have given. Where fewer than a quorum store as much, a second round raises
// the others (S8). The error is what became of that; the caller rolls back, and checks
// the validity again.
//
// A reader's token is not a new one. It may be that of a writer whose attempt came to
// nothing on too few masters: unless it is stored at a quorum the next writer, or reader,
// may get a lower one.
//
// acquired: ask was an acquisition, and not the extension that adopts.
func (h *Hold) settleFence(ctx context.Context, ask *wire.Ask, acquired bool) *outcome.Failure {
	given, agreeing := ask.Given()
	token, stored := uint64(0), uint64(0)
	for _, f := range given {
		token = max(token, f)
	}
	h.claim.Fence = token
	h.home.cfg.Wire.Fences.Tokens.Add(1)
	if token == 0 { // adopted, and never fenced, or a reader before any writer
		return nil
	}
	for i, f := range given {
		switch {
		case f == token:
			stored |= 1 << i
		case f == 0 && !h.claim.Kind.SharesFence: // it was never given a token there
			agreeing &^= 1 << i
		}
	}
	if bits.OnesCount64(stored) >= h.home.cfg.Need {
		return nil
	}
	return h.raise(ctx, ask, given, agreeing, stored, acquired)
}

// raise is the second round: of the masters that agreed in the first those that store the
// token agree already, and those that gave less are asked to raise it; the others do not
// count.
func (h *Hold) raise(ctx context.Context, first *wire.Ask, given []uint64, agreeing, stored uint64, acquired bool) *outcome.Failure {
	w := h.home.cfg.Wire
	w.Fences.Raises.Add(1)
	ask := w.Raise(&h.claim, first.Start, given, agreeing, stored)
	defer ask.LetGo()
	cause := ask.Wait(ctx, h.home.Timeout(h.claim.TTL))
	h.owner.Answered(h.owner.Context(), ask)
	if ask.Result().Outcome == quorum.Granted {
		return nil
	}
	kind := outcome.NoQuorum
	if acquired {
		kind = ask.FailureKind()
	}
	f := ask.Failure(h.name, kind, cause, h.home.now().Sub(ask.Start))
	f.Note = notStored
	return f
}

// Raise stores a higher fencing token at a quorum, and makes it that of the hold. It is
// the second round of an acquisition, by the same rule (S8): a master raises its fence
// only where the lock is ours and the fence is what we were given. Until it has succeeded
// the hold keeps its token, so that a renewal meanwhile writes nothing that the compare
// would stumble over. It blocks for the masters' timeout at the most, and is to be
// called before anybody but traces has the hold.
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
	w.Fences.See(token, home.now().Wall())
	return nil
}

// notStored is what a failure notes.
const notStored = "the fencing token could not be stored at a quorum"
