package hold

import (
	"context"
	"time"

	"github.com/redquorum/redquorum/internal/outcome"
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/wire"
)

// acquireEarly asks the masters for the lock before they are judged, if this is the
// client's first acquisition (voters.Monitor.Early). The question may go out with the
// handshakes. That saves a round trip, and nothing rests on it: an answer counts only if
// its master was judged before the answer was read, as for every acquisition. If a quorum
// does not grant it, for whatever reason, it is rolled back, and done is false: the caller
// makes the attempt as usual, with a new token and what is left of the same patience.
// done: the hold is held, or the call has ended.
func (n *Handle) acquireEarly(ctx context.Context) (spent time.Duration, failed *outcome.Failure, done bool) {
	h := n.hold
	home := h.home
	if !home.cfg.Wire.CanBeEarly(&h.claim) {
		return 0, nil, false
	}
	early := home.cfg.Voters.Early()
	if early == nil {
		return 0, nil, false
	}
	a := n.start(home.Timeout(h.claim.TTL))
	defer a.end()
	if a.overdue {
		return 0, a.unjudged(ctx), true
	}
	ask := home.cfg.Wire.Acquire(&h.claim, &wire.Try{Live: h, Over: &h.setting, Start: h.life.start, Wait: a.limit, Early: early})
	defer ask.LetGo()
	cause := ask.Wait(ctx, a.limit)

	res := ask.Result()
	now := home.now()
	h.claim.Absent = res.Absent
	if res.Outcome == quorum.Granted {
		h.owner.Answered(h.owner.Context(), ask)
		if _, settled := a.settle(ctx, ask, &res, now); settled {
			return 0, nil, true
		}
	}
	h.rollback()
	spent = now.Sub(h.life.start)
	if home.closed() {
		cause = context.Cause(home.cfg.Life)
	}
	if cause != nil {
		return spent, a.failure(ctx, ask, &res, cause, false, spent), true
	}
	n.again()
	return spent, nil, false
}
