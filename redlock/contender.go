package redlock

import (
	"context"
	"errors"
	"time"

	"github.com/redquorum/redquorum/internal/outcome"
	"github.com/redquorum/redquorum/internal/pilot"
	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/wakeup"
	"github.com/redquorum/redquorum/internal/wire"
)

// A contender is a call that waits for a key. While others of this client wait
// longer for the same it does nothing. Then it queues up at the key's pilot, and
// sleeps until it is woken: by the release of another client, by one of this
// client, or by a timer, for the queue is advice: the pilot may be down, and a
// message lost.
//
// Who wants several keys together waits for one that is in the way (setturn.go),
// who wants one of several for all of them (slots.go).
type contender struct {
	c      *Client
	l      *Lock           // the handle of the next attempt
	call   context.Context // for the trace
	key    string          // that it waits for, with the prefix
	place  *place
	waiter *wakeup.Waiter // from when it is the first of this client
	slots  *slots         // of one who wants one of several keys
	since  time.Time      // when it came first
	out    *outage        // shared with those who wait behind

	attempts int
	last     *outcome.Failure // of the last attempt, and what the pilot said since
	over     bool             // no quorum could be had for too long

	pilot      int            // where it queues up
	turn       wire.Turn      // what the pilot said last
	heard      bool           // that was not acted on yet
	queued     uint64         // masters that may have an entry of ours
	eager      bool           // tries at the pilot before anything else
	blind      bool           // it sleeps where there is no queue to wait in
	slept      bool           // it had to wait
	called     bool           // the pilot has called
	polls      int            // since a quorum was asked
	refusals   pilot.Refusals // of a queue, to this call
	stale      bool           // the pilot's key is still that of a holder who has let go
	collisions int            // attempts in a row that failed after the pilot's grant
	losses     int            // turns of a set that came to nothing, one right after the other
}

// pollsPerAttempt is how many looks at the pilot there are to one at all
// masters: the pilot may have a stale key.
const pollsPerAttempt = 4

func newContender(c *Client, l *Lock) *contender {
	w := &contender{c: c, l: l, call: l.told, key: l.claim.Key(), pilot: pilot.None}
	if l.claim.Kind.OneOf {
		w.slots = newSlots(w)
	}
	return w
}

// wait waits for the key and acquires it. It returns when it has, when an
// outage lasts too long, or when ctx or the client ends.
func (w *contender) wait(ctx context.Context, before outage) error {
	w.place = w.c.lines.join(w.l.line())
	defer w.place.leave()
	if err := w.awaitTurn(ctx); err != nil {
		return err
	}
	w.since = time.Now()
	nextTry := w.nextTry
	if w.slots != nil {
		nextTry = w.slots.nextTry
		w.waiter = w.c.hub.Wait(w.slots.keys...)
	} else {
		w.waiter = w.c.hub.Wait(w.key)
	}
	defer w.leave()
	defer func() {
		if w.slept || w.l.claim.Kind.Queued {
			w.c.setContended(w.key, w.slept)
		}
	}()
	if w.out = w.place.outage(); w.out.failures == 0 {
		*w.out = before
	}
	for {
		try, cause := nextTry(ctx)
		if cause != nil {
			return w.ended(cause)
		}
		err, asked := try(ctx)
		if !asked {
			w.l = w.l.again()
			continue
		}
		if over, result := w.tried(err); over {
			return result
		}
	}
}

// A try is one way to try for the lock. It reports false when it could not be
// tried in that way.
type try func(ctx context.Context) (*outcome.Failure, bool)

// tryAll asks all masters together.
func (w *contender) tryAll(ctx context.Context) (*outcome.Failure, bool) {
	w.polls = 0
	return w.asked(w.c.attempt(ctx, w.l, true)), true
}

// tryBlind tries where there is no queue to wait in.
func (w *contender) tryBlind(ctx context.Context) (*outcome.Failure, bool) {
	w.polls = 0
	return w.asked(w.c.attemptOnce(ctx, w.l, true)), true
}

// asked takes notice of an answer of all masters.
func (w *contender) asked(err *outcome.Failure) *outcome.Failure {
	if err == nil || err.Cause != nil {
		return err
	}
	if w.over = w.out.note(err, w.c.opts.outage); w.over {
		w.place.fail(err)
	}
	w.follow(err)
	return err
}

// tried takes notice of an attempt, and reports whether the waiting is over.
func (w *contender) tried(err *outcome.Failure) (over bool, result error) {
	w.attempts++
	w.c.traceAttempt(w.call, w.l, w.attempts, err)
	switch {
	case err == nil:
		return true, nil
	case err.Cause != nil:
		if w.last == nil { // else what was learnt before says more
			w.last = err
		}
		return true, w.ended(err.Cause)
	}
	w.last = err
	if w.over {
		return true, w.c.quorumError(err)
	}
	w.l = w.l.again()
	return false, nil
}

// ended is the error of a waiting that was cut short.
func (w *contender) ended(cause error) error {
	if w.last == nil {
		w.last = w.c.takenAt(w.l, pilot.None, nil)
		w.last.Note = "others of this client wait for it as well"
	}
	return w.c.endedBy(w.last, cause)
}

// awaitTurn waits until nobody of this client waits longer for the key.
func (w *contender) awaitTurn(ctx context.Context) error {
	for {
		first, err := w.place.state()
		if err != nil {
			return w.c.quorumError(err) // each caller's error is its own
		}
		if first {
			return nil
		}
		select {
		case <-w.place.signal:
		case <-ctx.Done():
			return w.ended(ctx.Err())
		case <-w.c.life.Done():
			return w.ended(context.Cause(w.c.life))
		}
	}
}

// result is what the call returns.
func (w *contender) result(err error) (*Lock, int, error) {
	if err != nil {
		return nil, w.attempts, err
	}
	return w.l, w.attempts, nil
}

// look asks the pilot for our turn, and keeps our place there. heard tells
// whether it said anything; the error is what ended the waiting.
func (w *contender) look(ctx context.Context) error {
	w.queued |= 1 << w.pilot
	t, err := w.c.wire.WaitAt(ctx, w.pilot, w.key, w.position(), w.c.patience(w.pilot, w.l.claim.TTL))
	return w.note(&t, err)
}

// note takes notice of what the pilot said, if it did.
func (w *contender) note(t *wire.Turn, err error) (cause error) {
	switch {
	case err == nil:
		w.turn, w.heard = *t, true
		w.learn(t.Held)
	case errors.Is(err, pipeline.ErrTimeout): // passed over until it answers
	case errors.Is(err, pipeline.ErrConnectionLost), errors.Is(err, pipeline.ErrDown), errors.Is(err, pipeline.ErrStalled):
		// passed over until it is connected
	case errors.Is(err, ErrClosed), isContextError(err):
		return err
	default:
		w.refusals.Add(w.c.pilots, w.pilot)
		w.c.pilots.Forbidden(w.pilot, err)
	}
	return nil
}

// learn puts what the pilot says of the holder into the error of the last
// attempt. That may be in other hands by now: the new one is a copy.
func (w *contender) learn(held *outcome.Held) {
	if held.Type == "none" || w.last != nil && w.last.Kind != outcome.Taken {
		return
	}
	if held.Key == "" && len(w.l.others) > 0 {
		held.Key = w.c.withoutPrefix(w.key)
	}
	now := w.c.takenAt(w.l, w.pilot, held)
	if w.last != nil {
		now.OK, now.Agreed, now.Elapsed = w.last.OK, w.last.Agreed, w.last.Elapsed
		for _, p := range w.last.Parts {
			if p.Master != w.pilot {
				now.Parts = append(now.Parts, p)
			}
		}
	}
	w.last = now
}

// tryPilot asks the pilot alone, and the others once it has granted the lock.
func (w *contender) tryPilot(ctx context.Context) (*outcome.Failure, bool) {
	c, l := w.c, w.l
	c.unfinished.Add()
	defer c.unfinished.Done()
	before := w.turn.Held
	var granted bool
	var t wire.Turn
	var err error
	if l.isSet() {
		granted, t, err = c.takeSet(ctx, l, w.pilot)
	} else {
		w.queued |= 1 << w.pilot
		granted, t, err = c.take(ctx, l, w.pilot, wire.Place{Score: w.position(), OnlyFirst: l.opts.fair || w.eager})
	}
	w.eager = false
	if granted {
		w.queued |= 1 << w.pilot // if it comes to nothing nobody is told of the rollback
		failed := w.asked(c.fanOut(ctx, l, 1<<w.pilot, l.isSet()))
		if w.collisions++; failed == nil {
			w.collisions = 0
			if !l.isSet() {
				w.queued &^= 1 << w.pilot
			}
		}
		return failed, true
	}
	cause := w.note(&t, err)
	if !w.heard && cause == nil {
		return nil, false
	}
	if cause == nil && before != nil && before.Token != "" {
		w.stale = t.Held.Token == before.Token
	}
	failed := c.takenAt(l, w.pilot, t.Held)
	failed.Cause = cause
	if cause == nil && l.isSet() {
		w.stale = w.stale && w.prefixed(t.Held.Key) == w.key
		w.heard = false // it has no place in the queue of the key that it has met
		w.losses++
		w.follow(failed)
	}
	return failed, true
}

// leaveQueue takes our entries out of the queues of the key. A queue that has
// called us calls the next one.
func (w *contender) leaveQueue() {
	queued := w.queued
	for _, call := range w.waiter.Leave() {
		queued |= 1 << call.Master
	}
	w.queued = 0
	for i := range w.c.masters {
		if queued&(1<<i) != 0 {
			w.c.passOn(i, w.key)
		}
	}
}

// leave ends all waiting.
func (w *contender) leave() {
	if w.slots != nil {
		w.slots.leave()
		return
	}
	w.leaveQueue()
}
