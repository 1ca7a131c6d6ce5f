package waitqueue

import (
	"context"
	"time"

	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/wire"
)

const (
	// looksPerCheck is how many times a waiter asks the pilot before it asks all masters once:
	// the pilot's key may be stale. looksPerRest is the same while its pauses are the longest.
	looksPerCheck = 4
	looksPerRest  = 8
	// mostPause is the longest pause between two looks. Then a waiter for a key costs the masters
	// about three commands a second. Longer pauses would make waiters that are frozen dearer: who
	// stands behind one that is called and does not come hears of it by looking.
	mostPause = 500 * time.Millisecond
)

// A oneKey is a waiter's place in the queue of one key, at the key's pilot.
type oneKey struct {
	w          *waiter
	pilot      int
	turn       turn
	queued     quorum.MasterSet // masters that may have an entry of ours
	subscribed <-chan struct{}  // closed when the pilot's calls are heard
}

// A turn is the pilot's latest answer.
type turn struct {
	wire.Turn
	// stale: the lock was released since, but the pilot still has the holder's key.
	stale bool
}

func (q *oneKey) localQueue() string { return q.w.key }

func (q *oneKey) ready() <-chan struct{} { return q.subscribed }

// seek implements queue: the pilot has to be there, and its calls to be heard.
func (q *oneKey) seek() event {
	w, r := q.w, q.w.room
	master := r.cfg.Pilots.Of(w.key, w.refusals.Masters(r.cfg.Pilots))
	if w.out.failures > 0 || master == quorum.NoPilot || !r.quorumVotes() {
		return noQueue
	}
	ready := w.listener.Subscribe(master)
	same := master == q.pilot && ready == q.subscribed // else calls may have been missed
	q.subscribed = ready
	switch {
	case !isClosed(ready):
		q.pilot = quorum.NoPilot
		return unheard
	case same:
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
	q.noted(t)
	return q.judge()
}

// noted notes a turn, and whether the holder is the same as before, and a client of this library:
// such a holder will call the next one. So will the last of readers, whichever they are.
func (q *oneKey) noted(t wire.Turn) {
	before := q.turn.Held
	if q.w.counts.same++; before == nil || before.Token != t.Held.Token || !wire.IsOurs(t.Held) {
		q.w.counts.same = 0
	}
	q.turn.Turn = t
}

// pause is how long to sleep before the next look. It grows while somebody is sure to call.
func (q *oneKey) pause() time.Duration {
	random := q.w.room.cfg.Chance
	d := minRetryDelay + random.N("poll", maxRetryDelay-minRetryDelay)
	return q.w.withinStay(freeIn(&q.turn.Turn, random, min(d<<min(q.w.counts.same, 4), mostPause)))
}

// check implements queue. Only a quorum that has the token is an answer: masters that are silent
// may be an outage, of which an attempt tells.
func (q *oneKey) check(ctx context.Context) event {
	w := q.w
	w.counts.looks = 0
	if h := q.turn.Held; h != nil && h.Type == "string" {
		held, cause := w.room.cfg.Queues.StillHeld(ctx, w.key, h.Token, w.want.Limit)
		switch {
		case cause != nil:
			return w.interrupted(cause)
		case held:
			return timer // and looks: its last look is old, by which it knows when the key expires
		}
	}
	return stale
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
	left := q.pause()
	w.pausing(left)
	for {
		part := min(left, maxRetryDelay)
		switch woken, cause := w.sleep(ctx, part, nil); {
		case cause != nil:
			return w.interrupted(cause)
		case woken == byPilot && (w.counts.collisions == 0 || w.want.isSet()):
			return pilotCalls
		case woken != byTimer:
			return released
		}
		if left -= part; left <= 0 {
			break
		}
		if q.seek() != found { // which asks nobody
			return timer
		}
	}
	if w.hasStayed() {
		return longEnough
	}
	most := looksPerCheck
	if w.counts.same > 0 || w.want.oneOf() { // which begins anew with each key
		most = looksPerRest
	}
	if w.counts.looks++; w.counts.looks >= most && q.mayOvertake() {
		return overdue
	}
	return timer
}

// hear implements queue.
func (q *oneKey) hear(call WakeUp) bool {
	if call.Key != q.w.key || !q.w.state.listens() && call.Master != q.pilot {
		q.w.room.passOn(call) // of a key or a pilot before
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
	at := wire.Place{Score: q.position(), OnlyFirst: w.want.Fair || onlyFirst}
	granted, t, err := w.attempter.Pilot(ctx, q.pilot, at)
	if granted {
		return q.takeOthers(ctx)
	}
	heard, cause := w.note(q.pilot, w.key, &t, err)
	if heard {
		q.noted(t)
		if before != nil && before.Token != "" {
			q.turn.stale = t.Held.Token == before.Token
		}
	} else if cause == nil {
		return silent
	}
	f := w.attempter.Taken(q.pilot, t.Held)
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
	f := w.attempter.All(ctx, w.want.isSet())
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
	said, f := w.attempter.Together(ctx, q.pilot, wire.Place{Score: q.position(), OnlyFirst: w.want.Fair})
	e, heard := w.together(q.pilot, w.key, &said, f)
	if heard {
		q.noted(said.Turn)
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
	r, name := q.w.room, q.w.queue.localQueue()
	queued := q.queued
	for _, call := range q.w.ticket.unheard() {
		queued.Add(call.Master)
	}
	q.queued = 0
	for i := range r.cfg.Masters {
		if queued.Has(i) {
			r.passOn(WakeUp{Master: i, Key: name})
		}
	}
}
