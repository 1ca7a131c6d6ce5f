package waitqueue

import (
	"context"
	"time"

	"github.com/redquorum/redquorum/internal/quorum"
)

// A waking is what ended a pause.
type waking uint8

// Wakings.
const (
	byTimer   waking = iota // or the subscription became ready
	byRelease               // a release in this process
	byPilot                 // the pilot has called
)

// pausing reports and counts a pause.
func (w *waiter) pausing(d time.Duration) {
	if w.last != nil {
		w.attempter.Pausing(w.counts.attempts, d, w.last)
	}
	if d > 0 {
		w.counts.pauses++
	}
}

// sleep pauses for d, and says what has woken the waiter. ready, if it is not nil, ends the
// pause too. cause is what ended the waiting.
func (w *waiter) sleep(ctx context.Context, d time.Duration, ready <-chan struct{}) (woken waking, cause error) {
	began := time.Now()
	defer func() {
		if time.Since(began) >= time.Millisecond {
			w.counts.losses = 0
		}
	}()
	// The order matters: a select would choose at random, and a wake-up that it left would cut
	// the next pause short.
	if cause := quorum.Interrupted(ctx, w.room.cfg.Closing); cause != nil {
		return byTimer, cause
	}
	if woken := w.heard(); woken != byTimer || d <= 0 {
		return woken, nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			return w.heard(), nil
		case <-ready:
			return byTimer, nil
		case <-w.ticket.signal:
			return byRelease, nil
		case call := <-w.ticket.calls:
			if w.queue.hear(call) {
				return byPilot, nil
			}
		case <-ctx.Done():
			return byTimer, ctx.Err()
		case <-w.room.cfg.Closing.Done():
			return byTimer, context.Cause(w.room.cfg.Closing)
		}
	}
}

// heard returns what has already woken the waiter, without waiting.
func (w *waiter) heard() waking {
	select {
	case <-w.ticket.signal:
		return byRelease
	default:
	}
	for {
		select {
		case call := <-w.ticket.calls:
			if w.queue.hear(call) {
				return byPilot
			}
		default:
			return byTimer
		}
	}
}
