package redlock

import (
	"context"
	"strconv"
	"time"

	"github.com/redquorum/redquorum/internal/outcome"
	"github.com/redquorum/redquorum/internal/pilot"
	"github.com/redquorum/redquorum/internal/script"
)

// Who wants several keys together queues up for one that is in the way, at that
// key's pilot. When it is that one's turn and another key is in the way, it
// passes the turn on and queues up for the other, where its place is by how long
// it has waited already. So it never keeps a key from others while it waits for
// a further one.

// isSet reports whether the lock is one of several keys together that queues up:
// guarded ones poll.
func (l *Lock) isSet() bool { return len(l.claim.keys) > 1 && !l.claim.kind.oneOf && !l.isGuarded() }

// asksFirst reports whether a call asks for its turn before it tries at all
// masters: where it would mostly fail, and where it must not overtake. key is
// the one to wait for: of several together one that was waited for lately.
func (l *Lock) asksFirst() (key string, first bool) {
	switch {
	case len(l.claim.keys) > 1:
		for _, key := range l.claim.keys {
			if key := key.(string); l.c.wasContended(key) {
				return key, true
			}
		}
	case l.c.wasContended(l.fullKey()):
		return l.fullKey(), true
	}
	return l.fullKey(), l.opts.fair && !l.claim.kind.queued
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
	if w.turn.score == "" || w.l.isSet() {
		return w.age()
	}
	return w.turn.score
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
	w.key, w.pilot, w.turn, w.heard = key, pilot.None, turn{}, false
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
func (c *Client) takeSet(ctx context.Context, l *Lock, pilot int) (granted bool, t turn, err error) {
	c.awaitVoters(ctx, l)
	l.begin()
	reply, err := c.askVote(pilot, l.claim.kind.acquire, l.claim.keys, l.claim.token, l.ttlArg()).vote(ctx, l)
	l.claim.absent = c.everyone()
	switch {
	case err == nil && reply == any(int64(1)):
		l.claim.absent = 0
		return true, turn{}, nil
	case err != nil:
		l.claim.absent &^= 1 << pilot // whether it granted them is not known
	case reply != any(int64(0)):
		l.claim.absent &^= 1 << pilot
		err = unexpected(reply)
	}
	l.rollback()
	if err != nil {
		return false, turn{}, err
	}
	reply, err = c.ask(pilot, time.Time{}, script.HolderAmong, l.claim.keys, l.claim.kind.inTheWay).wait(ctx, c.patience(pilot, l.opts.ttl))
	if err != nil {
		return false, turn{}, err
	}
	h, ok := readHolder(reply)
	if !ok {
		return false, turn{}, unexpected(reply)
	}
	h.Key = c.withoutPrefix(h.Key)
	return false, turn{held: h}, nil
}
