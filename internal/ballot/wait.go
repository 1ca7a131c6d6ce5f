package ballot

import (
	"context"
	"time"

	"github.com/redquorum/redquorum/internal/quorum"
)

// closeTick is how long a Wait may go on after the client's Close.
const closeTick = 50 * time.Millisecond

// Wait blocks until the round is decided: by the masters' answers, after limit (see
// patience), when ctx ends, or within 50 ms of the client's Close, unless the round persists.
// It returns ctx's error, or the cause of Closing, if that ended the wait.
//
// The timer runs a function, which also looks whether the client closes, so that the
// goroutine waits for one channel, or two. A select of four channels, one of them shared
// by all callers, cost a tenth of a lock and its release.
func (b *Round) Wait(ctx context.Context, limit time.Duration) error {
	b.cfg.Running.Add()
	defer b.cfg.Running.Done()
	b.mu.Lock()
	first := b.patience.begin(time.Now(), limit)
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
		<-b.ticked // it has begun to run, and must not touch the next use
	}
	if cause == nil && b.wasEndedByClose() {
		cause = context.Cause(b.cfg.Closing)
	}
	return cause
}

// tick is what the timer of Wait runs. While time remains it sets the timer again;
// otherwise it decides the round and tells Wait that it will not run any more.
func (b *Round) tick() {
	b.mu.Lock()
	if b.outcome == quorum.Open {
		step := b.patience.next(time.Now())
		b.endedByClose = !b.Rules.Persist && b.cfg.Closing.Err() != nil
		if step > 0 && !b.endedByClose {
			b.timer.Reset(step)
			b.mu.Unlock()
			return
		}
		b.expired = true
		b.decideAs(b.tally.Close())
	}
	b.mu.Unlock()
	b.ticked <- struct{}{} // capacity 1, and received before the timer is set again
}

// wasEndedByClose reports whether the client's Close decided the round.
func (b *Round) wasEndedByClose() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.endedByClose
}
