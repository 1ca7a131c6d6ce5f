package redlock

import (
	"context"
	"time"

	"github.com/redquorum/redquorum/internal/hold"
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/waitqueue"
	"github.com/redquorum/redquorum/internal/wire"
)

// A call is one Lock call under way; waitqueue knows it as an Attempter. The acquisition makes its
// attempts. It belongs to the goroutine of the call.
type call struct {
	hold.Acquisition
	l        *Lock           // what is acquired
	trace    context.Context // of the call
	attempts int
}

// newCall takes a call from the client's pool. end puts it back.
func (c *Client) newCall(l *Lock) *call {
	t, _ := c.calls.Get().(*call)
	if t == nil {
		t = &call{}
	}
	t.l, t.trace = l, l.traceCtx
	t.Begin(&l.handle, l.keepsReadersOut)
	return t
}

func (t *call) end() {
	t.End()
	c := t.l.c
	*t = call{}
	c.calls.Put(t)
}

// want returns the call's request to the queue.
func (l *Lock) want(tries int) waitqueue.Options {
	claim := l.own.Claim()
	return waitqueue.Options{
		Keys: claim.Keys, Kind: claim.Kind, Fair: l.opts.fair,
		Limit: l.c.holds.Timeout(claim.TTL), Tries: tries, Backoff: l.opts.backoff,
	}
}

// mostRepeats is how often a call that does not wait repeats its attempt if the votes were split.
const mostRepeats = 3

// repeats returns how often a call that does not wait may repeat its attempt. WithTries and
// WithBackoff are followed exactly. A call for one of several keys tries another key instead.
func (l *Lock) repeats(oneOf []string) int {
	if l.opts.tries != 0 || l.opts.backoff != nil || oneOf != nil || l.own.Claim().Kind != wire.Plain {
		return 0
	}
	return mostRepeats
}

// Attempted implements waitqueue.Attempter.
func (t *call) Attempted(attempt int, failed *quorum.Failure) {
	t.attempts = attempt
	t.l.c.tracer.attempt(t.trace, t.l, attempt, failed)
}

// Pausing implements waitqueue.Attempter.
func (t *call) Pausing(attempts int, d time.Duration, last *quorum.Failure) {
	t.KeepOut()
	t.l.traceRetry(t.trace, attempts, d, last)
}
