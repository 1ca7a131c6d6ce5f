package redlock

import (
	"context"
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/outcome"
	"github.com/redquorum/redquorum/internal/quorum"
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
	waited, ok := c.voters.Await(ctx, c.nodeTimeout(l.opts.ttl))
	l.waited, l.overdue = waited, !ok
}

// unjudged is the failure of an attempt that is not made, since too few masters
// may vote.
func (c *Client) unjudged(ctx context.Context, l *Lock) *outcome.Failure {
	f := &outcome.Failure{
		Op: opLock.String(), Key: l.key, Others: len(l.others), Kind: outcome.NoQuorum,
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
	l.claim.token = newToken(l.c.opts.chance, l.c.tokenPrefix(l.opts.owner))
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
	ttl := l.opts.ttl
	r := c.newRound(opLock)
	defer r.LetGo()
	r.Start, r.Agreed, r.agreedFence = l.start, granted, l.claim.fence
	l.askAcquire(r)
	cause := r.Wait(ctx, c.nodeTimeout(ttl))

	res := r.result()
	now := c.opts.clock.Now()
	elapsed := now.Sub(l.start)
	l.claim.absent = res.absent
	if l.take != nil {
		l.take.pilotAnswer = r.pilotSaid()
	}
	r.traceNodes(l.told, l)
	var unfenced *outcome.Failure
	if validity := c.opts.validity(ttl); res.outcome == quorum.Granted && validity > elapsed {
		l.acquired, l.validity = l.start, validity
		if l.claim.kind.oneOf {
			l.settleOn(&res)
		}
		if unfenced = l.settleFence(ctx, r, true); unfenced == nil {
			if l.opts.fenced { // which may have taken another round
				now = c.opts.clock.Now()
				elapsed = now.Sub(l.start)
			}
			l.granted = uint8(res.tally.OK)
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
	case res.outcome == quorum.Granted:
		err = r.err(l.key, outcome.NoQuorum, cause, elapsed)
		err.Note = "the answers took so long that no validity is left"
	case res.outcome == quorum.Refused:
		if cause == nil && holders && res.refused != 0 {
			c.askHolders(ctx, r, l, res.refused, elapsed)
		}
		err = r.err(l.key, r.kind(), cause, elapsed)
	default:
		err = r.err(l.key, outcome.NoQuorum, cause, elapsed)
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
