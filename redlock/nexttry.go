package redlock

import (
	"context"
	"time"

	"github.com/redquorum/redquorum/internal/pilot"
	"github.com/redquorum/redquorum/internal/wakeup"
	"github.com/redquorum/redquorum/internal/wire"
)

// nextTry waits for the moment to try again, and says how; or what ended the
// waiting.
func (w *contender) nextTry(ctx context.Context) (try, error) {
	for {
		master := w.c.pilots.Of(w.key, w.refusals.Masters(w.c.pilots))
		if w.out.failures > 0 || master == pilot.None || !w.c.quorumConnected() {
			return w.sleepBlind(ctx, nil)
		}
		if ready := w.waiter.Subscribe(master); !isClosed(ready) {
			next, cause := w.sleepBlind(ctx, ready)
			if next == nil && cause == nil {
				continue // subscribed meanwhile
			}
			return next, cause
		}
		if master != w.pilot {
			w.pilot, w.turn, w.heard = master, wire.Turn{}, false
		}
		if !w.heard && w.eager && w.l.claim.Kind.Queued {
			return w.tryPilot, nil
		}
		if !w.heard {
			switch cause := w.look(ctx); {
			case cause != nil:
				return nil, cause
			case !w.heard:
				continue // another pilot
			}
		}
		w.heard = false
		if w.stale && (w.turn.First || !w.l.opts.fair) {
			w.stale = false
			return w.tryAll, nil
		}
		if w.turn.Ours {
			if cause := w.pauseAfterLosses(ctx); cause != nil {
				return nil, cause
			}
			return w.tryPilot, w.pauseAfterCollision(ctx)
		}
		delay := freeIn(&w.turn, w.c.opts.chance, minRetryDelay+w.c.opts.chance.N("poll", maxRetryDelay-minRetryDelay))
		woken, cause := w.sleep(ctx, delay, nil)
		switch {
		case cause != nil:
			return nil, cause
		case woken && w.maySkipPilot():
			return w.tryTogether, nil
		case woken:
			return w.tryPilot, w.pauseAfterLosses(ctx)
		}
		if w.polls++; w.polls >= pollsPerAttempt && (w.turn.First || !w.l.opts.fair) {
			return w.tryAll, nil
		}
	}
}

// sleepBlind is the pause before a try at all masters, while there is no queue
// to wait in. The try is nil when ready was closed before.
func (w *contender) sleepBlind(ctx context.Context, ready <-chan struct{}) (try, error) {
	delay := time.Duration(0)
	if w.last != nil {
		delay = w.c.retryDelay(w.l, w.attempts, w.out.failures, w.last)
	}
	w.blind = true
	_, cause := w.sleep(ctx, delay, ready)
	w.blind = false
	if ready != nil && isClosed(ready) {
		return nil, cause
	}
	return w.tryBlind, cause
}

// sleep pauses for d, and reports whether it was woken before. ready, if it is
// not nil, ends the pause too.
func (w *contender) sleep(ctx context.Context, d time.Duration, ready <-chan struct{}) (woken bool, cause error) {
	if w.last != nil {
		w.l.traceRetry(w.call, w.attempts, d, w.last)
	}
	w.slept = w.slept || d > 0
	began := time.Now()
	defer func() {
		if time.Since(began) >= time.Millisecond {
			w.losses = 0
		}
	}()
	// In this order, since a select would choose, and what it left would cut the
	// next pause short.
	if cause := w.c.interrupted(ctx); cause != nil {
		return false, cause
	}
	if heard := w.hear(); heard || d <= 0 {
		return heard, nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			return w.hear(), nil
		case <-ready:
			return false, nil
		case <-w.place.signal:
			if w.slots != nil { // both may come of one release
				w.hear()
			}
			return true, nil
		case call := <-w.waiter.Woken():
			if w.heed(call) {
				if w.slots != nil {
					w.hear()
				}
				return true, nil
			}
		case <-ctx.Done():
			return false, ctx.Err()
		case <-w.c.life.Done():
			return false, context.Cause(w.c.life)
		}
	}
}

// hear takes notice of what the sleeper has been told by now, and reports whether
// it is to wake for that.
func (w *contender) hear() bool {
	select {
	case <-w.place.signal:
		if w.slots != nil {
			w.slots.hear()
		}
		return true
	default:
	}
	if w.slots != nil {
		return w.slots.hear()
	}
	for {
		select {
		case call := <-w.waiter.Woken():
			if w.heed(call) {
				return true
			}
		default:
			return false
		}
	}
}

// heed takes notice of a wake-up, and reports whether it is one to wake for.
func (w *contender) heed(call wakeup.Call) bool {
	switch {
	case w.slots != nil:
		w.slots.called(call)
	case !w.blind && call.Master != w.pilot:
		w.c.wire.LeaveQueue(call.Master, call.Key) // of a pilot before
		return false
	default:
		w.called = !w.blind
	}
	return true
}

// pauseAfterCollision lets contenders part that keep splitting the vote, which
// those can who do not see the same pilot.
func (w *contender) pauseAfterCollision(ctx context.Context) error {
	if w.collisions < 2 {
		return nil
	}
	most := 8
	if w.l.isSet() {
		most = 3 // sets meet each other's attempts more often
	}
	return w.c.pause(ctx, w.c.opts.chance.N("collision", time.Millisecond<<min(w.collisions, most)))
}
