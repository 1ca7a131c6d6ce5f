package hold

import (
	"context"
	"time"

	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/wire"
)

// Adopt takes over the hold that another process has handed over, by its token. It makes an
// ordinary attempt, with a token of its own (S3). Only the condition differs: the masters must
// have the old token, which the new one replaces. So at most one of several calls that adopt the
// same token succeeds. A failed attempt releases its own token and does not restore the old one:
// on the masters that replaced it, nobody can adopt the lock any more.
func (n *Handle) Adopt(ctx context.Context, token string) *quorum.Failure {
	n.hold.claim.From = token
	a := n.begin(ctx, time.Now().Add(n.hold.manager.Timeout(n.hold.claim.TTL)))
	// An attempt whose answers cannot come in time would use the token up.
	a.overdue = a.overdue || a.patience() <= n.hold.manager.quorumAway()
	return a.askAll(ctx, false)
}

// refusedAs returns the kind of failure of an attempt that the masters refused.
func (h *Hold) refusedAs(ask *wire.Ask) quorum.Kind {
	if !h.claim.Adopts() {
		return ask.FailureKind()
	}
	if res := ask.Result(); res.Gone() {
		return quorum.NotHeld
	}
	return quorum.NoQuorum
}
