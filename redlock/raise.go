package redlock

import (
	"context"
	"errors"
	"math/bits"
	"strconv"
	"time"

	"github.com/redquorum/redquorum/internal/mutant"
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/script"
)

// errFenceMoved is said of a master where a second round came too late: the lock
// is not ours any more, or its fence has given more meanwhile.
var errFenceMoved = errors.New("its fencing token could not be raised: the lock or the fence has changed")

// settleFence sets the token of a lock that has a quorum: the highest that the
// masters have given. Where fewer than a quorum store as much, a second round
// raises the others (S8). The error is what became of that; the caller rolls
// back, and checks the validity again.
//
// A reader's token is not a new one. It may be that of a writer whose attempt
// came to nothing on too few masters: unless it is stored at a quorum the next
// writer, or reader, may get a lower one.
//
// acquired: r was an acquisition of l, and not the extension that adopts it.
func (l *Lock) settleFence(ctx context.Context, r *round, acquired bool) *QuorumError {
	if !l.opts.fenced {
		return nil
	}
	given, agreeing := r.fences()
	token, stored := uint64(0), uint64(0)
	for _, f := range given {
		token = max(token, f)
	}
	l.fence = token
	l.c.fences.tokens.Add(1)
	if token == 0 || mutant.Is(mutant.NoRaise) { // adopted, and never fenced, or a reader before any writer
		return nil
	}
	for i, f := range given {
		switch {
		case f == token:
			stored |= 1 << i
		case f == 0 && l.kind != readerKind: // it was never given a token there
			agreeing &^= 1 << i
		}
	}
	if bits.OnesCount64(stored) >= l.c.need || mutant.Is(mutant.NoReaderRaise) && l.kind == readerKind {
		return nil
	}
	return l.raise(ctx, r, given, agreeing, stored, acquired)
}

// fences is what each master gave that agreed to what was decided, and which did.
func (r *round) fences() (given []uint64, agreeing uint64) {
	given = make([]uint64, len(r.answers))
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.answers {
		if a := &r.answers[i]; a.verdict == agreed && a.slot == r.slot {
			given[i] = a.fence
			agreeing |= 1 << i
		}
	}
	return given, agreeing
}

// raise is the second round: of the masters that agreed in the first those that
// store the token agree already, and those that gave less are asked to raise it;
// the others do not count.
func (l *Lock) raise(ctx context.Context, first *round, given []uint64, agreeing, stored uint64, acquired bool) *QuorumError {
	c := l.c
	c.fences.raises.Add(1)
	r := c.newRound(opRaise)
	defer r.letGo()
	r.start, r.granted = first.start, stored
	skip := c.everyone() &^ agreeing
	if l.kind == readerKind {
		r.eval(script.RaiseKnown, appendNames(nil, fencePrefix, l.keyArgs), skip, time.Time{}, strconv.FormatUint(l.fence, 10), c.opts.retentionArg)
	} else {
		l.askRaise(r, given, skip)
	}
	cause := r.wait(ctx, c.nodeTimeout(l.opts.ttl))
	r.traceNodes(ctx, l)
	if r.result().outcome == quorum.Granted {
		return nil
	}
	kind := r.kind()
	if !acquired {
		kind = ErrNoQuorum
	}
	err := r.err(l.key, kind, cause, c.opts.clock.Now().Sub(r.start))
	err.note = "the fencing token could not be stored at a quorum"
	return err
}

// askRaise asks each master to raise a writer's fences by compare-and-set with
// what it has given.
func (l *Lock) askRaise(r *round, given []uint64, skip uint64) {
	r.script = script.Raise
	if mutant.Is(mutant.RaiseByOwner) {
		r.script = raiseByOwner
	}
	keys := appendNames(l.keyArgs[:len(l.keyArgs):len(l.keyArgs)], fencePrefix, l.keyArgs)
	r.each = make([][]any, len(given))
	for i, f := range given {
		if (skip|r.granted)&(1<<i) == 0 {
			r.each[i] = r.script.Args(nil, keys, l.token, strconv.FormatUint(f, 10), strconv.FormatUint(l.fence, 10), l.c.opts.retentionArg)
		}
	}
	r.ask(evalSHA, skip, time.Time{})
}

// readRaise reads what raise.lua says.
func readRaise(a *answer, reply any) {
	switch reply {
	case any(int64(1)):
		a.verdict = agreed
	case any(int64(0)):
		a.verdict, a.err = refused, errFenceMoved
	default:
		a.err = unexpected(reply)
	}
}
