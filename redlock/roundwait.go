package redlock

import (
	"context"
	"time"

	"github.com/redquorum/redquorum/internal/quorum"
)

// closeTick is how soon a round that is waited for takes notice of Close.
const closeTick = 50 * time.Millisecond

// wait blocks until the round is decided, for timeout at the most, or until ctx
// ends or the client closes. It returns the context's error or ErrClosed if
// that is what ended the wait.
//
// The timer runs a function, and Close is looked for by that function, so that
// the usual wait is for one channel, or two: a select over four, one of them
// shared by all callers, cost a tenth of a pair.
func (r *round) wait(ctx context.Context, timeout time.Duration) error {
	r.mu.Lock()
	r.deadline = time.Now().Add(timeout)
	first := min(timeout, closeTick)
	if r.timer == nil {
		r.timer = time.AfterFunc(first, r.tick)
	} else {
		r.timer.Reset(first)
	}
	r.mu.Unlock()

	var cause error
	if ended := ctx.Done(); ended == nil {
		<-r.wake
	} else {
		select {
		case <-r.wake:
		case <-ended:
			r.expire()
			cause = ctx.Err()
		}
	}
	if !r.timer.Stop() {
		<-r.ticked // it has begun to run, and may not touch the round's next use
	}
	if cause == nil && r.wasCut() {
		cause = ErrClosed
	}
	return cause
}

// tick is what the timer of wait runs. It sets the timer again while there is
// time left; otherwise it tells that it will not run any more.
func (r *round) tick() {
	r.mu.Lock()
	if r.outcome == quorum.Open {
		left := time.Until(r.deadline)
		r.cut = r.op != opRelease && r.c.isClosed()
		if left > 0 && !r.cut {
			r.timer.Reset(min(left, closeTick))
			r.mu.Unlock()
			return
		}
		r.expired = true
		r.settle(r.tally.Close())
	}
	r.mu.Unlock()
	r.ticked <- struct{}{} // capacity 1, received before the timer is set anew
}

// wasCut reports whether Close ended the round.
func (r *round) wasCut() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cut
}
