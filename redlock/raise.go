package redlock

import (
	"context"
	"errors"
	"math/bits"
	"strconv"
	"time"

	"github.com/redquorum/redquorum/internal/ballot"
	"github.com/redquorum/redquorum/internal/outcome"
	"github.com/redquorum/redquorum/internal/pipeline"
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
func (l *Lock) settleFence(ctx context.Context, r *round, acquired bool) *outcome.Failure {
	if !l.opts.fenced {
		return nil
	}
	given, agreeing := r.fences()
	token, stored := uint64(0), uint64(0)
	for _, f := range given {
		token = max(token, f)
	}
	l.claim.fence = token
	l.c.fences.tokens.Add(1)
	if token == 0 { // adopted, and never fenced, or a reader before any writer
		return nil
	}
	for i, f := range given {
		switch {
		case f == token:
			stored |= 1 << i
		case f == 0 && l.claim.kind != readerKind: // it was never given a token there
			agreeing &^= 1 << i
		}
	}
	if bits.OnesCount64(stored) >= l.c.need {
		return nil
	}
	return l.raise(ctx, r, given, agreeing, stored, acquired)
}

// fences is what each master gave that agreed to what was decided, and which did.
func (r *round) fences() (given []uint64, agreeing uint64) {
	given = make([]uint64, len(r.facts))
	r.Lock()
	defer r.Unlock()
	for i := range r.Answers() {
		if a := &r.Answers()[i]; a.Verdict == ballot.Agreed && a.Candidate == r.Tally().Leads {
			given[i] = r.facts[i].fence
			agreeing |= 1 << i
		}
	}
	return given, agreeing
}

// raise is the second round: of the masters that agreed in the first those that
// store the token agree already, and those that gave less are asked to raise it;
// the others do not count.
func (l *Lock) raise(ctx context.Context, first *round, given []uint64, agreeing, stored uint64, acquired bool) *outcome.Failure {
	c := l.c
	c.fences.raises.Add(1)
	r := c.newRound(opRaise)
	defer r.LetGo()
	r.Start, r.Agreed = first.Start, stored
	skip := c.everyone() &^ agreeing
	if l.claim.kind == readerKind {
		r.eval(script.RaiseKnown, appendNames(nil, fencePrefix, l.claim.keys), skip, time.Time{}, strconv.FormatUint(l.claim.fence, 10), c.opts.retentionArg)
	} else {
		l.askRaise(r, given, skip)
	}
	cause := r.Wait(ctx, c.nodeTimeout(l.opts.ttl))
	r.traceNodes(ctx, l)
	if r.result().outcome == quorum.Granted {
		return nil
	}
	kind := r.kind()
	if !acquired {
		kind = outcome.NoQuorum
	}
	err := r.err(l.key, kind, cause, c.opts.clock.Now().Sub(r.Start))
	err.Note = "the fencing token could not be stored at a quorum"
	return err
}

// askRaise asks each master to raise a writer's fences by compare-and-set with
// what it has given.
func (l *Lock) askRaise(r *round, given []uint64, skip uint64) {
	r.script = script.Raise
	keys := appendNames(l.claim.keys[:len(l.claim.keys):len(l.claim.keys)], fencePrefix, l.claim.keys)
	for i, f := range given {
		if (skip|r.Agreed)&(1<<i) == 0 {
			args := r.script.Args(nil, keys, l.claim.token, strconv.FormatUint(f, 10), strconv.FormatUint(l.claim.fence, 10), l.c.opts.retentionArg)
			r.SetOwn(i, &pipeline.Command{Cmd: evalSHA, Encoded: pipeline.AppendCommand(nil, evalSHA, args...)})
		}
	}
	r.ask(evalSHA, skip, time.Time{})
}

// readRaise reads what raise.lua says.
func readRaise(a *answer, reply any) {
	switch reply {
	case any(int64(1)):
		a.Verdict = ballot.Agreed
	case any(int64(0)):
		a.Verdict, a.Err = ballot.Refused, errFenceMoved
	default:
		a.Err = unexpected(reply)
	}
}
