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
	// about three commands a second. Longer pauses would delay hand-overs after a waiter froze: if
	// a waiter that was called does not come, the one behind it finds out by looking.
	mostPause = 500 * time.Millisecond
)

// A oneKey is a waiter's place in the queue of one key, at the key's pilot.
type oneKey struct {
	w          *waiter
	pilot      int
	turn       turn
	queued     quorum.MasterSet // masters that may have an entry of ours
	subscribed <-chan struct{}  // closed when the subscription to the pilot is ready
}

// A turn is the pilot's latest answer.
type turn struct {
	wire.Turn
	// stale: the lock was released since, but the pilot still has the holder's key.
	stale bool
}

func (q *oneKey) localQueue() string { return q.w.key }

func (q *oneKey) ready() <-chan struct{} { return q.subscribed }

// seek implements queue. It finds a pilot if there is one, and subscribes to its calls.
func (q *oneKey) seek() event {
	w, r := q.w, q.w.room
	master := r.cfg.Pilots.Of(w.key, w.refusals.Masters(r.cfg.Pilots))
	if w.out.failures > 0 || master == quorum.NoPilot || !r.quorumVotes() {
		return noQueue
	}
	ready := w.listener.Subscribe(master)
	same := master == q.pilot && ready == q.subscribed // otherwise calls may have been missed
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

// noted notes a turn. It counts turns with the same holder in a row, if that is a client of this
// library, which will call the next one. Readers count as one holder: the last one calls.
func (q *oneKey) noted(t wire.Turn) {
	before := q.turn.Held
	if q.w.counts.same++; before == nil || before.Token != t.Held.Token || !wire.IsOurs(t.Held) {
		q.w.counts.same = 0
	}
	q.turn.Turn = t
}

// pause returns how long to sleep before the next look. It grows while the holder will call.
func (q *oneKey) pause() time.Duration {
	random := q.w.room.cfg.Chance
	d := minRetryDelay + random.N("poll", maxRetryDelay-minRetryDelay)
	return q.w.withinStay(freeIn(&q.turn.Turn, random, min(d<<min(q.w.counts.same, 4), mostPause)))
}

// check implements queue. Only a quorum that has the token counts as an answer: silent masters
// may mean an outage, which an attempt finds out.
func (q *oneKey) check(ctx context.Context) event {
	w := q.w
	w.counts.looks = 0
	if h := q.turn.Held; h != nil && h.Type == "string" {
		held, cause := w.room.cfg.Queues.StillHeld(ctx, w.key, h.Token, w.want.Limit)
		switch {
		case cause != nil:
			return w.interrupted(cause)
		case held:
			return timer // it looks again: its last look is too old to say when the key expires
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
		return pilotCalls // it keeps the lock for us, as after a call
	case q.turn.Ours:
		return q.w.itsTurn()
	default:
		return behind
	}
}

// mayOvertake reports whether the waiter may ask all masters before the pilot calls it.
func (q *oneKey) mayOvertake() bool { return q.turn.First || !q.w.want.Fair }

// sleep implements queue. After a call the pilot keeps the lock for this waiter, which need not
// ask the pilot alone first, except after a collision. A set does not ask it alone even then:
// other calls, called by the pilots of its keys, ask all masters at once, and would come first
// each time.
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
		if q.seek() != found { // this asks no master
			return timer
		}
	}
	if w.hasStayed() {
		return longEnough
	}
	most := looksPerCheck
	if w.counts.same > 0 || w.want.oneOf() { // that begins anew with each key
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
		q.w.room.passOn(call) // it is for an earlier key, or from an earlier pilot
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
	if cause == nil && w.want.isSet() && t.Held.Type != wire.LeaseType { // no answer says which key has a lease
		q.lostTurn()
		return w.attempted(f, false)
	}
	return w.attemptedAt(f, false)
}

// takeOthers asks the other masters for the lock that the pilot has granted.
func (q *oneKey) takeOthers(ctx context.Context) event {
	w := q.w
	q.queued.Add(q.pilot) // if this fails, the rollback calls no waiter
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

// takeTogether implements queue. Only a call that does not use the queue can take votes from
// the waiter now. After that the waiter asks the pilot first.
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

// position returns the call's score in the pilot's queue, as far as it knows. It may know none:
// the pilot has named none, or has dropped the call while the client could not be reached. Then
// the score follows from how long it has waited.
func (q *oneKey) position() any {
	if q.turn.Score == "" || q.w.want.isSet() {
		return q.w.age()
	}
	return q.turn.Score
}

// leave implements queue. A pilot that has called us then calls the next client.
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
