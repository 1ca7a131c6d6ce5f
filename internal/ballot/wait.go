package ballot

import (
	"context"
	"time"

	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/voters"
)

// closeTick is how soon a round that is waited for takes notice of Close.
const closeTick = 50 * time.Millisecond

// Wait blocks until the round is decided, for timeout at the most, or until ctx
// ends or the client closes. It returns the context's error or ErrClosed if
// that is what ended the wait.
//
// The timer runs a function, and Close is looked for by that function, so that
// the usual wait is for one channel, or two: a select over four, one of them
// shared by all callers, cost a tenth of a pair.
func (b *Ballot) Wait(ctx context.Context, timeout time.Duration) error {
	b.mu.Lock()
	b.deadline = time.Now().Add(timeout)
	first := min(timeout, closeTick)
	if b.timer == nil {
		b.timer = time.AfterFunc(first, b.tick)
	} else {
		b.timer.Reset(first)
	}
	b.mu.Unlock()

	var cause error
	if ended := ctx.Done(); ended == nil {
		<-b.wake
	} else {
		select {
		case <-b.wake:
		case <-ended:
			b.Expire()
			cause = ctx.Err()
		}
	}
	if !b.timer.Stop() {
		<-b.ticked // it has begun to run, and may not touch the round's next use
	}
	if cause == nil && b.wasCut() {
		cause = voters.ErrClosed
	}
	return cause
}

// tick is what the timer of wait runs. It sets the timer again while there is
// time left; otherwise it tells that it will not run any more.
func (b *Ballot) tick() {
	b.mu.Lock()
	if b.outcome == quorum.Open {
		left := time.Until(b.deadline)
		b.cut = !b.Rules.Persist && b.closed()
		if left > 0 && !b.cut {
			b.timer.Reset(min(left, closeTick))
			b.mu.Unlock()
			return
		}
		b.expired = true
		b.settle(b.tally.Close())
	}
	b.mu.Unlock()
	b.ticked <- struct{}{} // capacity 1, received before the timer is set anew
}

// wasCut reports whether Close ended the round.
func (b *Ballot) wasCut() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.cut
}

func (b *Ballot) closed() bool {
	select {
	case <-b.cfg.Closing:
		return true
	default:
		return false
	}
}
