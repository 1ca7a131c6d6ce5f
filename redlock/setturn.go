package redlock

import (
	"context"
	"strconv"
	"time"

	"github.com/redquorum/redquorum/internal/outcome"
	"github.com/redquorum/redquorum/internal/pilot"
	"github.com/redquorum/redquorum/internal/wire"
)

// Who wants several keys together queues up for one that is in the way, at that
// key's pilot. When it is that one's turn and another key is in the way, it
// passes the turn on and queues up for the other, where its place is by how long
// it has waited already. So it never keeps a key from others while it waits for
// a further one.

// isSet reports whether the lock is one of several keys together that queues up:
// guarded ones poll.
func (l *Lock) isSet() bool {
	return len(l.claim.Keys) > 1 && !l.claim.Kind.OneOf && !l.c.wire.Scripted(&l.claim)
}

// asksFirst reports whether a call asks for its turn before it tries at all
// masters: where it would mostly fail, and where it must not overtake. key is
// the one to wait for: of several together one that was waited for lately.
func (l *Lock) asksFirst() (key string, first bool) {
	switch {
	case len(l.claim.Keys) > 1:
		for _, key := range l.claim.Keys {
			if key := key.(string); l.c.wasContended(key) {
				return key, true
			}
		}
	case l.c.wasContended(l.claim.Key()):
		return l.claim.Key(), true
	}
	return l.claim.Key(), l.opts.fair && !l.claim.Kind.Queued
}

// age is for how long the call has waited, as its score in a queue: the
// masters' clocks may differ.
func (w *contender) age() any {
	return "+" + strconv.FormatInt(time.Since(w.since).Microseconds(), 10)
}

// position is the call's place in the pilot's queue, as it knows it. At a pilot
// that has not told it any, or where it was dropped while it could not be reached
// and was passed over, that is by how long it has waited.
func (w *contender) position() any {
	if w.turn.Score == "" || w.l.isSet() {
		return w.age()
	}
	return w.turn.Score
}

// prefixed is the name of a key in Redis.
func (w *contender) prefixed(key string) string { return w.c.opts.prefix + key }

// follow has one who wants several keys wait for the one that kept it out on
// most masters, as far as err tells.
func (w *contender) follow(err *outcome.Failure) {
	if err == nil || !w.l.isSet() {
		return
	}
	met := make(map[string]int)
	most := ""
	for _, p := range err.Parts {
		h := p.Held
		if h == nil || h.Key == "" {
			continue
		}
		if met[h.Key]++; most == "" || met[h.Key] > met[most] {
			most = h.Key
		}
	}
	if most != "" {
		w.moveTo(w.prefixed(most))
	}
}

// moveTo leaves the queue of one key for that of another.
func (w *contender) moveTo(key string) {
	if key == w.key {
		return
	}
	if w.waiter != nil {
		w.leaveQueue()
		w.waiter = w.c.hub.Wait(key)
	}
	w.key, w.pilot, w.turn, w.heard = key, pilot.None, wire.Turn{}, false
}

// pauseAfterLosses lets sets part that keep meeting each other's attempts, one at
// the pilot of this key and one at that of another.
func (w *contender) pauseAfterLosses(ctx context.Context) error {
	if w.losses < 2 {
		return nil
	}
	return w.c.pause(ctx, w.c.opts.chance.N("loss", time.Millisecond<<min(w.losses, 5)))
}

// takeSet begins an attempt and asks a pilot alone for several keys together. If
// it grants them the caller asks the others; otherwise the attempt is over, and
// the turn tells which key is in the way.
func (c *Client) takeSet(ctx context.Context, l *Lock, pilot int) (granted bool, t wire.Turn, err error) {
	c.awaitVoters(ctx, l)
	l.begin()
	limit := c.patience(pilot, l.claim.TTL)
	granted, err = c.wire.TakeSetAt(ctx, &l.claim, pilot, l.start, limit)
	if granted {
		return true, wire.Turn{}, nil
	}
	l.rollback()
	if err != nil {
		return false, wire.Turn{}, err
	}
	h, err := c.wire.HolderAt(ctx, &l.claim, pilot, limit)
	if err != nil {
		return false, wire.Turn{}, err
	}
	h.Key = c.withoutPrefix(h.Key)
	return false, wire.Turn{Held: h}, nil
}
