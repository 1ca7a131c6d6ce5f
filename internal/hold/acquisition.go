package hold

import (
	"context"

	"github.com/redquorum/redquorum/internal/outcome"
	"github.com/redquorum/redquorum/internal/pilot"
	"github.com/redquorum/redquorum/internal/wire"
)

// An Acquisition is how one call acquires: its attempts, each with a hold and a token of its
// own (S3). Package waitqueue says when to make which, by a Caller, of which this is the half
// that asks masters. End it when the call ends, however that ends. One goroutine uses it.
type Acquisition struct {
	handle  *Handle
	granted attempt // by a pilot, and not decided yet; the zero attempt: none
	intent  intent
}

// Begin begins with a handle with which no attempt was made. keepOut: it is a writer's, and
// keeps new readers out while it waits.
func (q *Acquisition) Begin(n *Handle, keepOut bool) {
	q.handle = n
	if keepOut {
		q.intent.begin(n.hold)
	}
}

// End gives back what the call has at the masters, but for a hold.
func (q *Acquisition) End() {
	q.giveBack()
	q.intent.end()
}

// giveBack gives back the vote of a pilot that has granted an attempt, if that did not go on.
func (q *Acquisition) giveBack() {
	if q.granted.hold != nil {
		q.granted.abandon()
		q.granted = attempt{}
	}
}

// next is the handle for another attempt.
func (q *Acquisition) next() *Handle {
	q.giveBack()
	if q.handle.hold.tried() {
		q.handle.again()
	}
	return q.handle
}

// nextAt is next for an attempt at a key's pilot: of one of several keys at that one alone.
func (q *Acquisition) nextAt(key string) *Handle {
	n := q.next()
	if n.hold.wantsOneOf() {
		n.hold.narrow(key)
	}
	return n
}

// All asks every master for the lock, once, and returns as soon as that is decided. nil: the
// lock is held. On failure it rolls back every master that may have the key. The rollback
// goes out behind the acquisition, and All does not wait for it (L2). holders: if the key is
// taken, ask who holds it. All blocks for about a round trip, and for the masters' timeout at
// most.
func (q *Acquisition) All(ctx context.Context, holders bool) *outcome.Failure {
	n := q.next()
	spent, failed, done := n.acquireEarly(ctx)
	if done {
		return q.decided(failed)
	}
	a := n.beginAfter(ctx, spent)
	failed = a.askAll(ctx, holders)
	if failed != nil && n.meetsMove(ctx, failed, a.limit) {
		n.again()
		a = n.beginAfter(ctx, failed.Elapsed)
		failed = a.askAll(ctx, holders)
	}
	return q.decided(failed)
}

// Pilot asks the pilot alone for the lock. If the pilot grants it, the attempt goes on with
// Others; if the call does anything else, the vote is given back. If it is not granted, the
// attempt is over, and the pilot has said whose turn it is. Of several keys together the turn
// tells which of them is in the way.
func (q *Acquisition) Pilot(ctx context.Context, pilot int, key string, at wire.Place) (granted bool, t wire.Turn, err error) {
	a := q.nextAt(key).begin(ctx)
	granted, t, err = a.askPilot(ctx, pilot, at)
	switch {
	case granted:
		q.granted = a
	case err == nil:
		q.intent.note()
	}
	return granted, t, err
}

// Others goes on with the attempt that a pilot has granted. It is All at the other masters.
func (q *Acquisition) Others(ctx context.Context, holders bool) *outcome.Failure {
	a := q.granted
	q.granted = attempt{}
	return q.decidedAt(a.askAll(ctx, holders))
}

// Together is All with a command of its own for the pilot, which also takes the client out of
// its queue. The answer is what the pilot had said when it was decided.
func (q *Acquisition) Together(ctx context.Context, pilot int, key string, at wire.Place) (wire.PilotAnswer, *outcome.Failure) {
	a := q.nextAt(key).begin(ctx)
	take := &wire.PilotTake{Pilot: pilot, At: at}
	a.take = take
	failed := a.askAll(ctx, false)
	return take.Answer, q.decidedAt(failed)
}

// Called is All for a reader that a pilot has called: a writer that waits does not keep it
// out.
func (q *Acquisition) Called(ctx context.Context) *outcome.Failure {
	a := q.next().begin(ctx)
	a.called = true
	return q.decided(a.askAll(ctx, false))
}

// decided notes how an attempt has ended: a writer's that has failed keeps readers out.
func (q *Acquisition) decided(failed *outcome.Failure) *outcome.Failure {
	if failed != nil {
		q.intent.note()
	} else {
		q.intent.withdraw()
	}
	return failed
}

// decidedAt is decided for an attempt that may have been at one of several keys alone.
func (q *Acquisition) decidedAt(failed *outcome.Failure) *outcome.Failure {
	if failed != nil {
		failed.Key, failed.Others = q.handle.hold.Wanted()
	}
	return q.decided(failed)
}

// Taken is the failure of an attempt at a pilot alone, or of one that was not made
// (pilot.None). held says what is in the way; nil: that is not known.
func (q *Acquisition) Taken(master int, held *outcome.Held) *outcome.Failure {
	if master == pilot.None {
		q.next()
	}
	h := q.handle.hold
	f := &outcome.Failure{Op: wire.OpLock.String(), Need: h.home.cfg.Need, Total: len(h.home.cfg.Masters), Kind: outcome.Taken}
	f.Key, f.Others = h.Wanted()
	if h.tried() {
		f.Elapsed = h.home.now().Sub(h.life.start)
	}
	if held != nil {
		f.Parts = []outcome.Part{{Master: master, Held: held}}
	}
	return f
}
