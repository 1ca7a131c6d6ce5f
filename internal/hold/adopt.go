package hold

import (
	"context"
	"time"

	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/wire"
)

// Adopt takes over the hold that another process has handed over, by its token. It is an
// attempt as any other, with a token of its own (S3). Only its condition differs: the masters
// have to have the old token, which the new one replaces. So one of several that adopt the same
// token gets it, if any does. A failed attempt releases its own token, never back to the old
// one: where it had come in, nobody can adopt any more.
func (n *Handle) Adopt(ctx context.Context, token string) *quorum.Failure {
	n.hold.claim.From = token
	a := n.begin(ctx, time.Now().Add(n.hold.manager.Timeout(n.hold.claim.TTL)))
	// An attempt whose answers cannot come in time would use the token up.
	a.overdue = a.overdue || a.patience() <= n.hold.manager.quorumAway()
	return a.askAll(ctx, false)
}

// refusedAs is the kind of failure of an attempt that the masters refused.
func (h *Hold) refusedAs(ask *wire.Ask) quorum.Kind {
	if !h.claim.Adopts() {
		return ask.FailureKind()
	}
	if res := ask.Result(); res.Gone() {
		return quorum.NotHeld
	}
	return quorum.NoQuorum
}
