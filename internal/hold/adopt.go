package hold

import (
	"context"

	"github.com/redquorum/redquorum/internal/outcome"
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/wire"
)

// Adopt takes over the hold that another process has handed on, by its token, if a quorum
// has that token. The hold gets a full TTL. Adopt makes one attempt. On failure it
// releases nothing: it does not touch what the other process holds.
func (n *Handle) Adopt(ctx context.Context, token string) *outcome.Failure {
	h := n.hold
	home := h.home
	limit := home.Timeout(h.claim.TTL)
	home.cfg.Voters.Await(ctx, limit)
	h.claim.Token = token
	start := home.now()
	h.life.start, h.acquired = start, start
	ask := home.cfg.Wire.Extend(&h.claim, &wire.Extension{Op: wire.OpAdopt, Start: start, Wait: limit})
	defer ask.LetGo()
	cause := ask.Wait(ctx, limit)
	h.owner.Answered(h.owner.Context(), ask)
	res := ask.Result()
	h.life.validity = home.cfg.Validity(h.claim.TTL)
	if res.Outcome == quorum.Granted && h.claim.Fenced {
		if failed := h.settleFence(ctx, ask, false); failed != nil {
			return failed
		}
	}
	now := home.now()
	took := now.Sub(start)
	kind := outcome.NoQuorum
	switch {
	case res.Outcome == quorum.Granted && took < h.life.validity:
		h.life.agreed = uint8(res.Tally.OK)
		if h.keep(now) {
			return nil
		}
		cause = context.Cause(home.cfg.Life)
	case res.Gone():
		kind = outcome.NotHeld
	}
	return ask.Failure(h.name, kind, cause, took)
}
