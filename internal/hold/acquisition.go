package hold

import (
	"context"
	"time"

	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/wire"
)

// An Acquisition makes the attempts of one call, each with a hold and a token of its own (S3).
// Package waitqueue decides when to make which, through an Attempter; an Acquisition is the part
// of it that asks masters. End must be called when the call ends. One goroutine uses it.
type Acquisition struct {
	handle  *Handle
	granted attempt // by a pilot, and not decided yet; the zero attempt: none
	intent  intent
	first   string    // the first of several keys, if one of them is wanted
	others  int       // how many more; 0: the handle says what is wanted
	until   time.Time // when the call has to end; zero: no bound
	repeats int       // how often an attempt may be repeated if votes were split
}

// Begin begins with a handle that has made no attempt. keepOut: the call is a writer's, and
// keeps new readers out while it waits.
func (q *Acquisition) Begin(n *Handle, keepOut bool) {
	q.handle = n
	if keepOut {
		q.intent.begin(n.hold)
	}
}

// OneOf says that one of several keys is wanted: first, or one of so many others. At says which
// of them the next attempts ask for.
func (q *Acquisition) OneOf(first string, others int) { q.first, q.others = first, others }

// Once says that the call does not wait, and when it has to end. repeats is how often it may
// repeat its attempt if the votes were split and nobody has the lock.
func (q *Acquisition) Once(until time.Time, repeats int) { q.until, q.repeats = until, repeats }

// At aims the attempts that follow at one key, as the plain lock of that key.
func (q *Acquisition) At(key string) { q.next().hold.aim(key) }

// KeepOut is called before each pause: a writer that waits keeps new readers out.
func (q *Acquisition) KeepOut() { q.intent.renew() }

// End gives back what the call still has at the masters, except a hold.
func (q *Acquisition) End() {
	q.giveBack()
	q.intent.end()
}

// giveBack gives back the vote of a pilot that has granted an attempt, if the attempt did not go on.
func (q *Acquisition) giveBack() {
	if q.granted.hold != nil {
		q.granted.abandon()
		q.granted = attempt{}
	}
}

// next returns the handle, ready for another attempt.
func (q *Acquisition) next() *Handle {
	q.giveBack()
	if q.handle.hold.claim.Token != "" { // an attempt was made with it
		q.handle.again()
	}
	return q.handle
}

// All asks every master for the lock, except a pilot that has granted the attempt already, and
// returns as soon as it is decided. nil: the lock is held. On failure it rolls back every master
// that may have the key. The rollback goes out behind the acquisition, and All does not wait for
// it (L2). holders: if the key is taken, ask who holds it. An attempt takes about a round trip,
// at most the masters' timeout. If the votes were split, All may repeat it; that is reported as
// one attempt.
func (q *Acquisition) All(ctx context.Context, holders bool) *quorum.Failure {
	a := q.granted
	if q.granted = (attempt{}); a.hold == nil {
		a = q.begin(ctx)
	}
	for left := q.repeats; ; left-- {
		a.repeats = left
		failed := a.askAll(ctx, holders)
		if a.again != 0 {
			failed.Cause = quorum.Pause(ctx, q.handle.hold.manager.cfg.Closing, a.again, nil)
		}
		if a.again == 0 || failed.Cause != nil {
			return q.decided(failed)
		}
		a = q.begin(ctx)
	}
}

func (q *Acquisition) begin(ctx context.Context) attempt { return q.next().begin(ctx, q.until) }

// Pilot asks only the pilot for the lock. If the pilot grants it, the attempt goes on with All;
// if the call does anything else, the vote is given back. If it is not granted, the attempt is
// over, and t says whose turn it is. For several keys together, t says which of them is held.
func (q *Acquisition) Pilot(ctx context.Context, pilot int, at wire.Place) (granted bool, t wire.Turn, err error) {
	a := q.begin(ctx)
	granted, t, err = a.askPilot(ctx, pilot, at)
	switch {
	case granted:
		q.granted = a
	case err == nil:
		q.intent.note()
	}
	return granted, t, err
}

// Together does what All does, with a command of its own for the pilot, which also takes the
// client out of the queue. It returns the pilot's answer as of the decision.
func (q *Acquisition) Together(ctx context.Context, pilot int, at wire.Place) (wire.PilotAnswer, *quorum.Failure) {
	a := q.begin(ctx)
	take := &wire.PilotTake{Pilot: pilot, At: at}
	a.take = take
	failed := a.askAll(ctx, false)
	return take.Answer, q.decided(failed)
}

// Called does what All does, for a reader that a pilot has called: no waiting writer keeps it out.
func (q *Acquisition) Called(ctx context.Context) *quorum.Failure {
	a := q.begin(ctx)
	a.called = true
	return q.decided(a.askAll(ctx, false))
}

// decided notes how an attempt has ended: after a failure, a writer keeps readers out.
func (q *Acquisition) decided(failed *quorum.Failure) *quorum.Failure {
	if failed == nil {
		q.intent.withdraw()
		return nil
	}
	q.intent.note()
	q.named(failed)
	return failed
}

// named completes a failure of a call for one of several keys: it names all keys, and each part
// says which key it is about.
func (q *Acquisition) named(f *quorum.Failure) {
	if q.others == 0 {
		return
	}
	f.Key, f.Others = q.first, q.others
	for i := range f.Parts {
		if p := &f.Parts[i]; p.Held != nil && p.Held.Key == "" {
			held := *p.Held // a copy: others may read the original
			held.Key = q.handle.hold.Name()
			p.Held = &held
		}
	}
}

// Taken returns the failure of an attempt that asked only a pilot, or of one that was not made
// (quorum.NoPilot). held says who holds the key; nil: that is not known.
func (q *Acquisition) Taken(master int, held *quorum.Held) *quorum.Failure {
	if master == quorum.NoPilot {
		q.next()
	}
	h := q.handle.hold
	f := &quorum.Failure{
		Op: wire.OpLock.String(), Key: h.name, Others: len(h.others), Kind: quorum.Taken,
		Need: h.manager.cfg.Need, Total: len(h.manager.cfg.Masters),
	}
	if h.claim.Token != "" {
		f.Elapsed = h.manager.now().Sub(h.life.start)
	}
	if held != nil {
		f.Parts = []quorum.Part{{Master: master, Held: held}}
	}
	q.named(f)
	return f
}
