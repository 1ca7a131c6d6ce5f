package waitqueue

import (
	"context"
	"math"
	"time"

	"github.com/redquorum/redquorum/internal/pilot"
	"github.com/redquorum/redquorum/internal/wakeup"
	"github.com/redquorum/redquorum/internal/wire"
)

// An anyOf is the places of a waiter that wants one of several keys. It stands in the lines of
// all keys. Where it is the first it has a place in the queue of the key, at the key's pilot.
// So every release of one of them finds it there, or who stands before it,
// also that of a plain lock. When it is its turn for a key, it acquires that key like a
// plain lock, the pilot first.
type anyOf struct {
	w      *waiter
	last   wire.Turn            // what was said last; of several answers the one that expires first
	turns  []wakeup.Call        // that it was told of and has not acted on
	queued map[wakeup.Call]bool // the queues in which it may have a place
}

func newAnyOf(w *waiter) *anyOf {
	return &anyOf{w: w, queued: make(map[wakeup.Call]bool)}
}

func (q *anyOf) keys() []string { return q.w.want.Keys }

// ready implements queue: pilots whose calls cannot be heard for now are left out.
func (q *anyOf) ready() <-chan struct{} { return nil }

// hear implements queue.
func (q *anyOf) hear(call wakeup.Call) bool {
	q.turns = append(q.turns, call)
	return true
}

// seek implements queue. The pilots are chosen when they are asked.
func (q *anyOf) seek() event {
	switch {
	case q.w.out.failures > 0 || !q.w.room.quorumConnected():
		return noQueue
	case len(q.turns) > 0:
		return q.w.itsTurn()
	default:
		return found
	}
}

// judge implements queue: turns show before.
func (q *anyOf) judge() event { return behind }

// sleep implements queue.
func (q *anyOf) sleep(ctx context.Context) event {
	w := q.w
	random := w.room.cfg.Chance
	delay := freeIn(&q.last, random, minRetryDelay+random.N("poll", maxRetryDelay-minRetryDelay))
	woken, cause := w.sleep(ctx, delay, nil)
	if cause != nil {
		return w.interrupted(cause)
	}
	switch w.counts.looks++; {
	case woken == byPilot && w.counts.collisions == 0:
		return pilotCalls
	case woken != byTimer:
		return turnsCome
	case w.counts.looks >= looksPerAttempt:
		return overdue
	default:
		return timer
	}
}

// ask implements queue: it asks the pilots of all keys.
func (q *anyOf) ask(ctx context.Context) event {
	byPilot := q.byPilot()
	if byPilot == nil {
		return noQueue
	}
	if cause := q.subscribe(ctx, byPilot); cause != nil {
		return q.w.interrupted(cause)
	}
	heard, cause := q.askEach(ctx, byPilot)
	switch {
	case cause != nil:
		return q.w.interrupted(cause)
	case len(q.turns) > 0:
		return q.w.itsTurn()
	case heard:
		return behind
	default:
		return silent
	}
}

// byPilot is the keys of each pilot for which nobody stands before it; nil: there is none.
func (q *anyOf) byPilot() [][]string {
	r := q.w.room
	passed := q.w.refusals.Masters(r.cfg.Pilots)
	var byPilot [][]string
	for _, key := range q.w.place.first() {
		if master := r.cfg.Pilots.Of(key, passed); master != pilot.None {
			if byPilot == nil {
				byPilot = make([][]string, len(r.cfg.Masters))
			}
			byPilot[master] = append(byPilot[master], key)
		}
	}
	return byPilot
}

// subscribe listens to the calls of the pilots. It leaves out pilots to which it cannot
// listen now.
func (q *anyOf) subscribe(ctx context.Context, byPilot [][]string) (cause error) {
	t := time.NewTimer(wire.LeastPatience)
	defer t.Stop()
	late := false
	for master := range byPilot {
		if byPilot[master] == nil {
			continue
		}
		ready := q.w.listener.Subscribe(master)
		if isClosed(ready) {
			continue
		}
		if late {
			byPilot[master] = nil
			continue
		}
		select {
		case <-ready:
		case <-t.C:
			late, byPilot[master] = true, nil
		case <-ctx.Done():
			return ctx.Err()
		case <-q.w.room.cfg.Life.Done():
			return context.Cause(q.w.room.cfg.Life)
		}
	}
	return nil
}

// askEach asks each pilot where the waiter stands in the queues of its keys, and keeps the
// places there. heard: at least one has answered. cause is what ended the waiting.
func (q *anyOf) askEach(ctx context.Context, byPilot [][]string) (heard bool, cause error) {
	w, queues := q.w, q.w.room.cfg.Queues
	asked := make([]wire.KeysQuery, len(byPilot))
	limit := time.Duration(0)
	for master, keys := range byPilot {
		if keys == nil {
			continue
		}
		for _, key := range keys {
			q.queued[wakeup.Call{Master: master, Key: key}] = true
		}
		asked[master] = queues.WaitAtEach(master, keys, w.age())
		limit = max(limit, queues.Patience(master, w.want.Limit))
	}
	until := time.Now().Add(limit)
	var soonest wire.Turn
	for master, query := range asked {
		if byPilot[master] == nil {
			continue
		}
		t, key, err := query.Answer(ctx, max(0, time.Until(until)))
		said, cause := w.note(master, key, &t, err)
		switch {
		case cause != nil:
			return false, cause
		case !said:
			continue
		case t.Ours:
			q.turns = append(q.turns, wakeup.Call{Master: master, Key: key})
		default:
			t.Held.Key = w.room.name(key)
			if soonest.Held == nil || expiry(&t) < expiry(&soonest) {
				soonest = t
			}
		}
		heard = true
	}
	if heard {
		q.last = soonest
	}
	return heard, nil
}

// next is the turn that came first.
func (q *anyOf) next() wakeup.Call {
	at := q.turns[0]
	q.turns = q.turns[1:]
	q.queued[at] = true
	return at
}

func (q *anyOf) position() wire.Place { return wire.Place{Score: q.w.age(), OnlyFirst: q.w.want.Fair} }

// take implements queue, for the key whose turn came first.
func (q *anyOf) take(ctx context.Context, _ bool) event {
	w := q.w
	at := q.next()
	granted, t, err := w.caller.Pilot(ctx, at.Master, at.Key, q.position())
	if granted {
		delete(q.queued, at)
		q.giveBack() // at once: it is others' turn there
		f := w.caller.Others(ctx, false)
		over := w.isOver(f)
		if w.counts.collisions++; f == nil {
			w.counts.collisions = 0
		} else {
			q.queued[at] = true // nobody was told of the rollback
		}
		return w.attempted(f, over)
	}
	if err == nil {
		t.Held.Key = w.room.name(at.Key)
	}
	heard, cause := w.note(at.Master, at.Key, &t, err)
	if !heard && cause == nil {
		return silent
	}
	f := w.caller.Taken(at.Master, t.Held)
	f.Cause = cause
	if heard {
		q.last = t
	}
	return w.attemptedAt(f, false)
}

// takeTogether implements queue, for the key whose turn came first. The other queues are
// left before that: a waiter that is first in all of them would keep the other keys from
// those behind it. If it gets no lock, it takes its places again.
func (q *anyOf) takeTogether(ctx context.Context) event {
	at := q.next()
	delete(q.queued, at)
	q.giveBack() // at once: it is others' turn there
	q.queued[at] = true
	said, f := q.w.caller.Together(ctx, at.Master, at.Key, q.position())
	e, heard := q.w.together(at.Master, at.Key, &said, f)
	if heard {
		q.last = said.Turn
	}
	if f == nil && said.Granted {
		delete(q.queued, at)
	}
	if e == refused {
		return failed // it stands in no other queue
	}
	return e
}

// giveBack leaves the queues. Where a key is free, the next client there is called.
func (q *anyOf) giveBack() {
	r := q.w.room
	q.w.hearAll()
	for _, at := range q.turns {
		q.queued[at] = true
	}
	q.turns = nil
	for master := range r.cfg.Masters {
		var left []string
		for _, key := range q.w.want.Keys {
			if q.queued[wakeup.Call{Master: master, Key: key}] {
				left = append(left, key)
			}
		}
		if left != nil {
			r.cfg.Queues.LeaveEach(master, left)
		}
	}
	clear(q.queued)
}

// leave implements queue.
func (q *anyOf) leave() {
	q.w.listener.Leave()
	for _, at := range append(q.turns, q.w.place.unheard()...) {
		delete(q.queued, at)
		q.w.room.passOn(at)
	}
	q.turns = nil
	q.giveBack()
}

// expiry is how long it takes until the keys that are in the way have expired.
func expiry(t *wire.Turn) time.Duration {
	if t.Held.TTL <= 0 {
		return math.MaxInt64
	}
	return t.Held.TTL
}
