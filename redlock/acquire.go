package redlock

import (
	"context"
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/outcome"
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/token"
	"github.com/redquorum/redquorum/internal/wire"
)

// attempt asks every master for the key, once, and returns as soon as the
// answer is decided. On failure every master is rolled back that may have the
// key; the rollback goes out behind the acquisition and is not waited for. Who
// holds a key that is taken is asked only if the caller wants to know.
func (c *Client) attempt(ctx context.Context, l *Lock, holders bool) *outcome.Failure {
	// Close waits for what is begun here, rollback included.
	c.unfinished.Add()
	defer c.unfinished.Done()
	c.awaitVoters(ctx, l)
	l.begin()
	return c.fanOut(ctx, l, 0, holders)
}

// awaitVoters waits while a quorum may not vote yet but soon may, for as long as
// a master is waited for. If that was too short, or the call ends meanwhile, the
// attempt is not made.
func (c *Client) awaitVoters(ctx context.Context, l *Lock) {
	waited, ok := c.voters.Await(ctx, c.nodeTimeout(l.claim.TTL))
	l.waited, l.overdue = waited, !ok
}

// unjudged is the failure of an attempt that is not made, since too few masters
// may vote.
func (c *Client) unjudged(ctx context.Context, l *Lock) *outcome.Failure {
	f := &outcome.Failure{
		Op: wire.OpLock.String(), Key: l.key, Others: len(l.others), Kind: outcome.NoQuorum,
		Need: c.need, Total: len(c.masters), Elapsed: l.waited, Note: "too few masters may vote, so none was asked",
		Cause: c.interrupted(ctx),
	}
	now := c.opts.clock.Now()
	for i := range c.masters {
		if why := c.voters.AbstainsNow(i, now); why != nil {
			f.Parts = append(f.Parts, outcome.Part{Master: i, Err: why})
		}
	}
	return f
}

// begin makes the handle's token, and reads the clock: what follows may send
// (S2, S3).
func (l *Lock) begin() {
	l.claim.Token = token.New(l.c.opts.chance, l.c.tokenPrefix(l.opts.owner))
	l.start = l.c.opts.clock.Now()
}

// fanOut is an attempt that has begun, for the masters that have not granted it
// yet.
func (c *Client) fanOut(ctx context.Context, l *Lock, granted uint64, holders bool) *outcome.Failure {
	if l.overdue {
		if granted != 0 {
			l.rollback()
		}
		return c.unjudged(ctx, l)
	}
	ttl := l.claim.TTL
	r := c.wire.Acquire(&l.claim, &wire.Try{
		Live: (*liveLock)(l), Over: &l.setting, Start: l.start, Agreed: granted, Wait: c.nodeTimeout(ttl), Take: l.take,
	})
	defer r.LetGo()
	cause := r.Wait(ctx, c.nodeTimeout(ttl))

	res := r.Result()
	now := c.opts.clock.Now()
	elapsed := now.Sub(l.start)
	l.claim.Absent = res.Absent
	if l.take != nil {
		l.take.Answer = r.PilotSaid()
	}
	c.traceNodes(l.told, r, l)
	var unfenced *outcome.Failure
	if validity := c.opts.validity(ttl); res.Outcome == quorum.Granted && validity > elapsed {
		l.acquired, l.validity = l.start, validity
		if l.claim.Kind.OneOf {
			l.settleOn(&res)
		}
		if unfenced = l.settleFence(ctx, r, true); unfenced == nil {
			if l.claim.Fenced { // which may have taken another round
				now = c.opts.clock.Now()
				elapsed = now.Sub(l.start)
			}
			l.granted = uint8(res.Tally.OK)
			if validity > elapsed && l.keep(now) {
				return nil
			}
		}
	}
	l.rollback()
	l.intent.note()
	if c.isClosed() {
		cause = ErrClosed
	}

	elapsed += l.waited // for people, from here on
	var err *outcome.Failure
	switch {
	case unfenced != nil && cause == nil:
		err = unfenced
	case res.Outcome == quorum.Granted:
		err = r.Failure(l.key, outcome.NoQuorum, cause, elapsed)
		err.Note = "the answers took so long that no validity is left"
	case res.Outcome == quorum.Refused:
		if cause == nil && holders && res.Refused != 0 {
			c.askHolders(ctx, r, l, res.Refused, elapsed)
		}
		err = r.Failure(l.key, r.FailureKind(), cause, elapsed)
	default:
		err = r.Failure(l.key, outcome.NoQuorum, cause, elapsed)
	}
	err.Others = len(l.others)
	return err
}

// keep begins the hold. It reports false when the client is closed.
func (l *Lock) keep(now drift.Instant) bool {
	l.traceHeld()
	if l.c.keeper.add(l, now) {
		return true
	}
	l.traceReleased(EndClosed, &LostError{Key: l.key, Reason: ReasonClosed}, now)
	return false
}

// rollback releases a lock that nobody has seen, without waiting (L2). Nobody
// is told: who failed tries again, or passes the turn on when it gives up.
func (l *Lock) rollback() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state = unlocked
	l.sendRelease(false)
}

// sendRelease queues a release that nobody waits for, once. The caller must
// hold l.mu.
func (l *Lock) sendRelease(handOver bool) {
	if l.sent {
		return
	}
	if r := l.startRelease(handOver); r != nil {
		r.LetGo()
	}
}

// nodeTimeout is how long one master is waited for: the pool's command timeout
// or a twentieth of the TTL, never more than the validity.
func (c *Client) nodeTimeout(ttl time.Duration) time.Duration {
	d := c.pool.CommandTimeout()
	if d == 0 {
		d = min(max(ttl/20, leastNodeTimeout), mostNodeTimeout)
	}
	return min(d, c.opts.validity(ttl))
}
