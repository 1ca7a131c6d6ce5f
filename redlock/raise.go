package redlock

import (
	"context"
	"errors"
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
// back, and checks the validity again. A reader's token is not raised.
//
// acquired: r was an acquisition of l, and not the extension that adopts it.
func (l *Lock) settleFence(ctx context.Context, r *round, acquired bool) *QuorumError {
	if !l.opts.fenced {
		return nil
	}
	given := r.fences()
	token, stored := uint64(0), uint64(0)
	for _, f := range given {
		token = max(token, f)
	}
	l.fence = token
	l.c.fences.tokens.Add(1)
	if l.kind == readerKind {
		return nil
	}
	n := 0
	for i, f := range given {
		if f == token && f != 0 {
			stored |= 1 << i
			n++
		}
	}
	if n >= l.c.need {
		return nil
	}
	if token == 0 { // adopted, and never fenced
		l.fence = 0
		return nil
	}
	if mutant.Is(mutant.NoRaise) {
		return nil
	}
	return l.raise(ctx, r, given, stored, acquired)
}

// fences is what each master gave that agreed to what was decided; 0: nothing.
func (r *round) fences() []uint64 {
	given := make([]uint64, len(r.answers))
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.answers {
		if a := &r.answers[i]; a.verdict == agreed && a.slot == r.slot {
			given[i] = a.fence
		}
	}
	return given
}

// raise is the second round: masters that store the token agree already, those
// that gave less are asked to raise it, by compare-and-set, and the others do
// not count.
func (l *Lock) raise(ctx context.Context, first *round, given []uint64, stored uint64, acquired bool) *QuorumError {
	c := l.c
	c.fences.raises.Add(1)
	r := c.newRound(opRaise)
	defer r.letGo()
	r.start, r.granted, r.script = first.start, stored, script.Raise
	if mutant.Is(mutant.RaiseByOwner) {
		r.script = raiseByOwner
	}
	keys := appendNames(l.keyArgs[:len(l.keyArgs):len(l.keyArgs)], fencePrefix, l.keyArgs)
	r.guard.each = make([][]any, len(given))
	skip := uint64(0)
	for i, f := range given {
		switch {
		case stored&(1<<i) != 0:
		case f == 0:
			skip |= 1 << i
		default:
			r.guard.each[i] = r.script.Args(nil, keys, l.tokenArg, strconv.FormatUint(f, 10), strconv.FormatUint(l.fence, 10), c.opts.retentionArg)
		}
	}
	r.ask(evalSHA, skip, time.Time{})
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
