package waitqueue

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/wire"
)

// A call for one of several keys takes the plain lock of one of them. It looks at all of them,
// and asks for those that are free (pass). Then it waits for one key, drawn at random, as a call
// for that key does. While it stays there, it does not notice releases of the others. So after a
// while it tries some of them, and waits for another one. Its places there follow from how long
// it has waited already.

const (
	// A call stays with its first key for leastStay, and then twice as long with each.
	leastStay = 200 * time.Millisecond
	mostStay  = 2 * time.Second
	// mostTried bounds the keys that a call tries between two stays, and those that it tries
	// without an answer of their pilots. All calls that wait do so again and again.
	mostTried = 16
)

// beginStay sets how long the waiter stays with its key, if one of several is wanted.
func (w *waiter) beginStay() {
	if w.want.oneOf() {
		w.stay = time.Now().Add(min(leastStay<<min(w.counts.stays, 4), mostStay))
	}
}

// hasStayed reports whether it has stayed for long enough.
func (w *waiter) hasStayed() bool { return w.want.oneOf() && !time.Now().Before(w.stay) }

// withinStay shortens a pause so that it does not outlast the stay.
func (w *waiter) withinStay(d time.Duration) time.Duration {
	if w.want.oneOf() {
		return min(d, time.Until(w.stay))
	}
	return d
}

// acquireOneOf is Acquire for one of several keys. Keys for which calls of this client wait
// are left to them.
func (r *Room) acquireOneOf(ctx context.Context, want *Options, c Attempter) *quorum.Failure {
	key := r.shuffled(want.Keys)[0]
	keys := r.localQueues.unoccupied(want)
	if len(keys) == 0 {
		return newWaiter(r, *want, c, key, false).wait(ctx)
	}
	return r.waitAfter(ctx, want, c, key, r.pass(ctx, want, c, keys))
}

// shuffled returns the keys in a random order. In the same order, calls that start together
// would contend for each key.
func (r *Room) shuffled(keys []string) []string {
	keys = slices.Clone(keys)
	r.cfg.Chance.Shuffle("order", len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	return keys
}

// tryOthers leaves a key for another one, and tries some of the others on the way.
func (w *waiter) tryOthers(ctx context.Context) event {
	r := w.room
	left := w.key
	w.counts.stays++
	others := func(keys []string) []string {
		return r.shuffled(slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return key == left }))
	}
	w.moveTo(others(w.want.Keys)[0])
	free := others(r.localQueues.unoccupied(&w.want))
	if len(free) == 0 {
		w.attempter.At(w.key)
		return moved
	}
	f := r.pass(ctx, &w.want, w.attempter, free[:min(len(free), mostTried)])
	over := f != nil && f.Cause == nil && r.note(&w.before, f)
	e := w.attempted(f, over)
	if e != failed {
		return e
	}
	w.attempter.At(w.key)
	return moved
}

// A looked is what a key's pilot has said of the key.
type looked struct {
	key    string
	master int
	held   *quorum.Held // nil: nothing
	free   bool
}

// left returns how long it takes until the key is free, as far as that is known.
func (l *looked) left() time.Duration {
	switch {
	case l.held == nil || l.free:
		return unknown
	case l.held.TTL <= 0:
		return unknown - 1
	default:
		return l.held.TTL
	}
}

const unknown = time.Duration(math.MaxInt64)

// look asks the pilots of all keys at once. cause is what ended the call.
func (r *Room) look(ctx context.Context, want *Options, keys []string) (all []looked, cause error) {
	all = make([]looked, len(keys))
	answers := make([]wire.Look, len(keys))
	limit := time.Duration(0)
	for i, key := range keys {
		all[i].key, all[i].master = key, r.cfg.Pilots.Of(key, 0)
		if m := all[i].master; m != quorum.NoPilot && r.quorumVotes() {
			answers[i] = r.cfg.Queues.LookAt(m, key)
			limit = max(limit, r.cfg.Queues.Patience(m, want.left()))
		}
	}
	until := time.Now().Add(limit)
	for i, answer := range answers {
		if answer == nil {
			continue
		}
		l := &all[i]
		switch t, err := answer(ctx, time.Until(until)); {
		case err == nil:
			l.held, l.free = t.Held, t.Held.Type == "none" && t.First
			if want.oneOf() {
				l.held.Key = r.name(l.key)
			}
		case r.ends(err):
			return nil, err
		default:
			r.cfg.Pilots.Forbidden(l.master, err)
		}
	}
	return all, nil
}

// pass looks at keys and tries those that are free, one after the other. It is one attempt.
// The failure is about the key that is free soonest.
func (r *Room) pass(ctx context.Context, want *Options, c Attempter, keys []string) *quorum.Failure {
	all, cause := r.look(ctx, want, r.shuffled(keys))
	if cause != nil {
		return r.unanswered(c, quorum.NoPilot, cause)
	}
	var failed *quorum.Failure
	try := func(l *looked) (over bool) {
		if failed != nil && want.once() && want.left() == 0 {
			return true
		}
		c.At(l.key)
		if failed = r.yieldAtPilot(ctx, want, c, l.key); failed == nil {
			failed = c.All(ctx, false)
		}
		return failed == nil || failed.Cause != nil || failed.Kind != quorum.Taken
	}
	for i := range all {
		if all[i].free && try(&all[i]) {
			return failed
		}
	}
	silent := slices.DeleteFunc(slices.Clone(all), func(l looked) bool { return l.held != nil })
	for i := range silent[:min(len(silent), mostTried)] {
		if try(&silent[i]) {
			return failed
		}
	}
	if soonest := soonestOf(all); soonest.left() < unknown {
		return c.Taken(soonest.master, soonest.held)
	}
	return failed
}

// soonestOf returns the key that is free soonest, as far as that is known.
func soonestOf(all []looked) looked {
	return slices.MinFunc(all, func(a, b looked) int { return cmp.Compare(a.left(), b.left()) })
}
