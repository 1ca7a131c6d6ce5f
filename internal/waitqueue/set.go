package waitqueue

import (
	"context"
	"time"

	"github.com/redquorum/redquorum/internal/quorum"
)

// A call for several keys together waits for one key that is held, in that key's local queue and
// at that key's pilot. If another key is held when its turn comes, it passes the turn on and
// waits for that other key. Its places there follow from how long it has waited already. So it
// never keeps a key from other calls while it waits for another one.

// follow makes a call for several keys wait for the key that kept it out on most masters, as
// far as the failure tells. It reports whether that is another key than before.
func (w *waiter) follow(failed *quorum.Failure) bool {
	if failed == nil || !w.want.isSet() {
		return false
	}
	met := make(map[string]int)
	most := ""
	for _, p := range failed.Parts {
		h := p.Held
		if h == nil || h.Key == "" {
			continue
		}
		if met[h.Key]++; most == "" || met[h.Key] > met[most] {
			most = h.Key
		}
	}
	return most != "" && w.moveTo(w.room.cfg.Prefix+most)
}

// moveTo leaves the local queue and the queue of one key for those of another.
func (w *waiter) moveTo(key string) bool {
	if key == w.key {
		return false
	}
	if w.ticket != nil {
		w.queue.leave()
		w.before = *w.out
		w.ticket.move(key)
	}
	w.key, w.queue = key, &oneKey{w: w, pilot: quorum.NoPilot}
	return true
}

// lostTurn notes a turn without success: the pilot has named the key that is held. The set has
// no place in that key's queue.
func (q *oneKey) lostTurn() {
	w := q.w
	q.turn.stale = q.turn.stale && w.room.cfg.Prefix+q.turn.Held.Key == w.key
	w.counts.losses++
}

// takeSetTogether asks all masters after the pilot of one key has called: it keeps that key
// for the set. If another key is held, the masters say which, and the turn is lost. If the
// pilot grants all keys but there is no quorum, other calls have taken votes from the set:
// that is a collision.
func (q *oneKey) takeSetTogether(ctx context.Context) event {
	w := q.w
	if cause := w.pauseAfterLosses(ctx); cause != nil {
		return w.interrupted(cause)
	}
	q.queued.Add(q.pilot) // the grant does not remove the entry there
	f := w.attempter.All(ctx, true)
	over := w.isOver(f)
	switch {
	case f == nil:
		w.counts.collisions = 0
	case f.Agreed.Has(q.pilot):
		w.counts.collisions++
	default:
		w.counts.losses++
	}
	return w.attempted(f, over)
}

// pauseAfterLosses pauses, so that sets that disturb each other again and again, each at
// another key's pilot, get out of step.
func (w *waiter) pauseAfterLosses(ctx context.Context) error {
	if w.counts.losses < 2 {
		return nil
	}
	return w.room.pause(ctx, w.room.cfg.Chance.N("loss", time.Millisecond<<min(w.counts.losses, 5)), nil)
}
