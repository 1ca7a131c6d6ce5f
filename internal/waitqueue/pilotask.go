package waitqueue

import (
	"context"

	"github.com/redquorum/redquorum/internal/pilot"
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/wakeup"
	"github.com/redquorum/redquorum/internal/wire"
)

// looksPerAttempt is how many times a waiter asks the pilot before it asks all masters once:
// the pilot's key may be stale.
const looksPerAttempt = 4

// A oneKey is a waiter's place in the queue of one key, at the key's pilot.
type oneKey struct {
	w          *waiter
	pilot      int
	turn       turn
	queued     quorum.Bits     // masters that may have an entry of ours
	subscribed <-chan struct{} // closed when the pilot's calls are heard
}

// A turn is the pilot's latest answer.
type turn struct {
	wire.Turn
	// stale: the lock was released since, but the pilot still has the holder's key.
	stale bool
}

func (q *oneKey) keys() []string { return []string{q.w.key} }

func (q *oneKey) ready() <-chan struct{} { return q.subscribed }

// seek implements queue: the pilot has to be there, and its calls to be heard.
func (q *oneKey) seek() event {
	w, r := q.w, q.w.room
	master := r.cfg.Pilots.Of(w.key, w.refusals.Masters(r.cfg.Pilots))
	if w.out.failures > 0 || master == pilot.None || !r.quorumConnected() {
		return noQueue
	}
	if q.subscribed = w.listener.Subscribe(master); !isClosed(q.subscribed) {
		return unheard
	}
	if master == q.pilot {
		return found
	}
	q.pilot, q.turn = master, turn{}
	return foundAnother
}

// ask implements queue.
func (q *oneKey) ask(ctx context.Context) event {
	w, r := q.w, q.w.room
	q.queued.Add(q.pilot)
	return q.asked(r.cfg.Queues.WaitAt(ctx, q.pilot, w.key, q.position(), r.cfg.Queues.Patience(q.pilot, w.want.Limit)))
}

// asked notes the pilot's answer.
func (q *oneKey) asked(t wire.Turn, err error) event {
	w := q.w
	switch heard, cause := w.note(q.pilot, w.key, &t, err); {
	case cause != nil:
		return w.interrupted(cause)
	case !heard:
		return silent
	}
	q.turn.Turn = t
	return q.judge()
}

// judge implements queue.
func (q *oneKey) judge() event {
	switch {
	case q.turn.stale && q.mayOvertake():
		q.turn.stale = false
		return stale
	case q.turn.Ours && q.w.counts.collisions == 0 && !q.w.want.isSet():
		return pilotCalls // it keeps the lock for us, as where it calls
	case q.turn.Ours:
		return q.w.itsTurn()
	default:
		return behind
	}
}

// mayOvertake reports whether the waiter may ask all masters before the pilot calls it.
func (q *oneKey) mayOvertake() bool { return q.turn.First || !q.w.want.Fair }

// sleep implements queue. One whom the pilot has called has the lock kept for it there,
// and need not ask the pilot alone, unless that came to nothing the last time. A set need
// not even then: others that its keys' pilots call ask all masters at once, and would come
// before it each time.
func (q *oneKey) sleep(ctx context.Context) event {
	w := q.w
	random := w.room.cfg.Chance
	delay := freeIn(&q.turn.Turn, random, minRetryDelay+random.N("poll", maxRetryDelay-minRetryDelay))
	switch woken, cause := w.sleep(ctx, delay, nil); {
	case cause != nil:
		return w.interrupted(cause)
	case woken == byPilot && (w.counts.collisions == 0 || w.want.isSet()):
		return pilotCalls
	case woken != byTimer:
		return released
	}
	if w.counts.looks++; w.counts.looks >= looksPerAttempt && q.mayOvertake() {
		return overdue
	}
	return timer
}

// hear implements queue.
func (q *oneKey) hear(call wakeup.Call) bool {
	if !q.w.state.listens() && call.Master != q.pilot {
		q.w.room.cfg.Queues.LeaveQueue(call.Master, call.Key) // of a pilot before
		return false
	}
	return true
}

// take implements queue.
func (q *oneKey) take(ctx context.Context, onlyFirst bool) event {
	w := q.w
	if cause := w.pauseAfterLosses(ctx); cause != nil {
		return w.interrupted(cause)
	}
	before := q.turn.Held
	if !w.want.isSet() {
		q.queued.Add(q.pilot)
	}
	granted, t, err := w.caller.Pilot(ctx, q.pilot, w.key, wire.Place{Score: q.position(), OnlyFirst: w.want.Fair || onlyFirst})
	if granted {
		return q.takeOthers(ctx)
	}
	heard, cause := w.note(q.pilot, w.key, &t, err)
	if heard {
		q.turn.Turn = t
		if before != nil && before.Token != "" {
			q.turn.stale = t.Held.Token == before.Token
		}
	} else if cause == nil {
		return silent
	}
	f := w.caller.Taken(q.pilot, t.Held)
	f.Cause = cause
	if cause == nil && w.want.isSet() && t.Held.Type != wire.LeaseType { // of which key a lease is nobody says
		q.lostTurn()
		return w.attempted(f, false)
	}
	return w.attemptedAt(f, false)
}

// takeOthers asks the other masters for the lock that the pilot has granted.
func (q *oneKey) takeOthers(ctx context.Context) event {
	w := q.w
	q.queued.Add(q.pilot) // if this fails, nobody is told of the rollback
	f := w.caller.Others(ctx, w.want.isSet())
	over := w.isOver(f)
	if w.counts.collisions++; f == nil {
		w.counts.collisions = 0
		if !w.want.isSet() {
			q.queued.Remove(q.pilot)
		}
	}
	return w.attempted(f, over)
}

// takeTogether implements queue. Only a call that does not know of the queue can take
// votes from the waiter then; after that it asks the pilot first.
func (q *oneKey) takeTogether(ctx context.Context) event {
	w := q.w
	if w.want.isSet() {
		return q.takeSetTogether(ctx)
	}
	q.queued.Add(q.pilot)
	said, f := w.caller.Together(ctx, q.pilot, w.key, wire.Place{Score: q.position(), OnlyFirst: w.want.Fair})
	e, heard := w.together(q.pilot, w.key, &said, f)
	if heard {
		q.turn.Turn = said.Turn
	}
	if f == nil && said.Granted {
		q.queued.Remove(q.pilot)
	}
	return e
}

// position is the call's place in the pilot's queue, as far as it knows. It may know none:
// the pilot has named none, or has dropped it while it could not be reached. Then the place
// follows from how long it has waited.
func (q *oneKey) position() any {
	if q.turn.Score == "" || q.w.want.isSet() {
		return q.w.age()
	}
	return q.turn.Score
}

// leave implements queue. A queue that has called us calls the next one.
func (q *oneKey) leave() {
	r, name := q.w.room, q.w.queue.keys()[0]
	q.w.listener.Leave()
	queued := q.queued
	for _, call := range q.w.place.unheard() {
		queued.Add(call.Master)
	}
	q.queued = 0
	for i := range r.cfg.Masters {
		if queued.Has(i) {
			r.passOn(wakeup.Call{Master: i, Key: name})
		}
	}
}
