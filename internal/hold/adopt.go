package hold

import (
	"context"

	"github.com/redquorum/redquorum/internal/outcome"
	"github.com/redquorum/redquorum/internal/wire"
)

// Adopt takes over the hold that another process has handed over, by its token. It is an
// attempt as any other, with a token of its own (S3). Only its condition differs: the masters
// have to have the old token, which the new one replaces. So one of several that adopt the same
// token gets it, if any does. A failed attempt releases its own token, never back to the old
// one: where it had come in, nobody can adopt any more.
func (n *Handle) Adopt(ctx context.Context, token string) *outcome.Failure {
	n.hold.claim.From = token
	a := n.begin(ctx)
	return a.askAll(ctx, false)
}

// refusedAs is the kind of failure of an attempt that the masters refused.
func (h *Hold) refusedAs(ask *wire.Ask) outcome.Kind {
	if !h.claim.Adopts() {
		return ask.FailureKind()
	}
	if res := ask.Result(); res.Gone() {
		return outcome.NotHeld
	}
	return outcome.NoQuorum
}
