package redlock

import (
	"time"

	"github.com/redquorum/redquorum/internal/pilot"
	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/script"
)

// A kind says by which commands locks of one sort are taken, kept and given
// back on a master. The scripts of a kind take the keys of the lock, the token
// as their first argument and the TTL in milliseconds as their second where
// they need one; all else is written in their files.
type kind struct {
	acquire *script.Script // returns 1 where it is granted; nil: SET NX PX, of one key
	oneOf   bool           // acquire grants one of the keys and returns its number, from 1
	extend  *script.Script
	verify  *script.Script
	release *script.Script
	guarded guardedScripts // instead, with a fencing token or in strict
	// Which of several keys is the one in the way, as holderamong wants it;
	// nil: there is one key.
	inTheWay any
	// queued: the queue's own script takes such a lock at the pilot and gives it
	// back there, and tells who waits next.
	queued bool
	// longest: but for verify, the scripts take the longest TTL of all clients as
	// their last argument, the guarded ones as their first; readers do.
	longest bool
	// handOver releases as release does, and tells who waits next, given the
	// client's id. Not where the lock is guarded; nil: nobody is told.
	handOver *script.Script
}

// plainKind is the lock of one key, also as the writer of a read-write lock.
var plainKind = &kind{
	extend:  script.Extend,
	verify:  script.Verify,
	release: script.Release,
	guarded: guardedScripts{script.GuardedAcquire, script.GuardedExtend, script.GuardedRelease},
	queued:  true,
}

// Arguments of commands, boxed once.
var (
	// Whether the extension script sets the key again where it is missing.
	argSetAgain, argLeaveMissing any = "1", "0"
)

// askAcquire asks for the lock.
func (l *Lock) askAcquire(r *round) {
	r.lock = l // which has to be unreleased for a script to be sent again
	r.Command.Key = keyOf(l)
	l.setting.Add()
	r.Over = &l.setting
	if l.claim.kind.oneOf {
		l.shuffle()
		r.Tally().Votes = append(r.Tally().Votes[:0], make([]int, len(l.claim.keys))...)
	}
	if l.isGuarded() {
		l.askGuardedAcquire(r)
		return
	}
	if s := l.claim.kind.acquire; s != nil {
		if l.claim.kind.longest {
			r.eval(s, l.acquireKeys(), 0, time.Time{}, l.claim.token, l.ttlArg(), l.c.opts.longestArg)
			return
		}
		r.eval(s, l.acquireKeys(), 0, time.Time{}, l.claim.token, l.ttlArg())
		return
	}
	if l.take != nil {
		r.pilot, r.take = l.take.pilot, l.take
	}
	r.encodeSet(l)
	r.send("SET", 0, time.Time{})
}

// encodeSet makes the round's command, the acquisition of one key without a
// script.
func (r *round) encodeSet(l *Lock) {
	b := pipeline.AppendArray(r.Command.Encoded[:0], 6)
	b = pipeline.AppendBulk(b, "SET")
	b = pipeline.AppendBulk(b, l.fullKey())
	b = pipeline.AppendBulk(b, l.claim.token)
	b = pipeline.AppendBulk(b, "NX")
	b = pipeline.AppendBulk(b, "PX")
	r.Command.Encoded = pipeline.AppendInt(b, l.ttlArg())
}

// ttlArg is the TTL in milliseconds.
func (l *Lock) ttlArg() int64 { return l.opts.ttl.Milliseconds() }

// askHolder asks the masters that are not skipped who holds the lock.
func (l *Lock) askHolder(r *round, skip uint64) {
	if l.claim.kind.inTheWay == nil {
		r.eval(script.Holder, l.claim.keys[:1], skip, time.Time{})
		return
	}
	r.eval(script.HolderAmong, l.claim.keys, skip, time.Time{}, l.claim.kind.inTheWay)
}

// askExtend asks to prolong the lock; again says whether it is set where it is
// missing.
func (l *Lock) askExtend(r *round, again any) {
	r.Command.Key = keyOf(l)
	if l.isGuarded() {
		l.askGuardedExtend(r, again)
		return
	}
	if l.claim.kind.longest {
		r.eval(l.claim.kind.extend, l.claim.keys, 0, time.Time{}, l.claim.token, l.ttlArg(), again, l.c.opts.longestArg)
		return
	}
	r.eval(l.claim.kind.extend, l.claim.keys, 0, time.Time{}, l.claim.token, l.ttlArg(), again)
}

// askVerify asks whether the lock is still there.
func (l *Lock) askVerify(r *round) {
	r.Command.Key = keyOf(l)
	r.eval(l.claim.kind.verify, l.claim.keys, 0, time.Time{}, l.claim.token)
}

// askRelease gives the lock back, and goes on trying until keep where a master
// cannot be reached now. With handOver the next one who waits is told, also
// where there is nothing to give back.
func (l *Lock) askRelease(r *round, keep time.Time, handOver bool) {
	absent := l.claim.absent
	if handOver && l.claim.kind.handOver != nil && !l.isGuarded() {
		for _, key := range l.claim.keys {
			if master := l.c.pilots.Of(key.(string), 0); master != pilot.None {
				absent &^= 1 << master
			}
		}
		r.tells = l.claim.keys
		r.eval(l.claim.kind.handOver, l.claim.keys, absent, keep, l.claim.token, l.c.id)
		return
	}
	if handOver && l.claim.kind.queued {
		if master := l.c.pilots.Of(l.fullKey(), 0); master != pilot.None {
			r.pilot = master
			r.own.encode(l)
			absent &^= 1 << master
		}
	}
	if l.claim.kind == plainKind {
		r.encodeRelease(l)
		r.send(evalSHA, absent, keep)
		return
	}
	s, keys := l.releaseScript(l.claim.keys)
	if l.claim.kind.longest {
		r.eval(s, keys, absent, keep, l.claim.token, l.c.opts.longestArg)
		return
	}
	r.eval(s, keys, absent, keep, l.claim.token)
}
