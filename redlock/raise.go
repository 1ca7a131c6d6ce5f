package redlock

import (
	"context"
	"math/bits"

	"github.com/redquorum/redquorum/internal/outcome"
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/wire"
)

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
func (l *Lock) settleFence(ctx context.Context, r *wire.Ask, acquired bool) *outcome.Failure {
	if !l.claim.Fenced {
		return nil
	}
	given, agreeing := r.Given()
	token, stored := uint64(0), uint64(0)
	for _, f := range given {
		token = max(token, f)
	}
	l.claim.Fence = token
	l.c.wire.Fences.Tokens.Add(1)
	if token == 0 { // adopted, and never fenced, or a reader before any writer
		return nil
	}
	for i, f := range given {
		switch {
		case f == token:
			stored |= 1 << i
		case f == 0 && !l.claim.Kind.SharesFence: // it was never given a token there
			agreeing &^= 1 << i
		}
	}
	if bits.OnesCount64(stored) >= l.c.need {
		return nil
	}
	return l.raise(ctx, r, given, agreeing, stored, acquired)
}

// raise is the second round: of the masters that agreed in the first those that
// store the token agree already, and those that gave less are asked to raise it;
// the others do not count.
func (l *Lock) raise(ctx context.Context, first *wire.Ask, given []uint64, agreeing, stored uint64, acquired bool) *outcome.Failure {
	c := l.c
	c.wire.Fences.Raises.Add(1)
	r := c.wire.Raise(&l.claim, first.Start, given, agreeing, stored)
	defer r.LetGo()
	cause := r.Wait(ctx, c.nodeTimeout(l.claim.TTL))
	c.traceNodes(ctx, r, l)
	if r.Result().Outcome == quorum.Granted {
		return nil
	}
	kind := r.FailureKind()
	if !acquired {
		kind = outcome.NoQuorum
	}
	err := r.Failure(l.key, kind, cause, c.opts.clock.Now().Sub(r.Start))
	err.Note = "the fencing token could not be stored at a quorum"
	return err
}
