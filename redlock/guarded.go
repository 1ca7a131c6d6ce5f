package redlock

import (
	"context"
	"math"
	"time"

	"github.com/redquorum/redquorum/internal/ballot"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/outcome"
	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/script"
)

// Locks with a fencing token, and all locks in strict, are taken and kept by
// scripts that have more to say than the plain ones; script/guarded.lua says
// what.

// guardedScripts are those of a kind.
type guardedScripts struct{ acquire, extend, release *script.Script }

// A guardedRound is what a round has beside, if it asks by such scripts.
type guardedRound struct {
	sent  time.Time     // wall clock before the command was written
	skew  time.Duration // S, of strict; 0: clocks are not compared
	floor uint64        // the token that 0 stands for, of an acquisition that may be joined
}

func (l *Lock) isGuarded() bool { return l.opts.fenced || l.c.opts.strict() }

func (l *Lock) acquireScript() *script.Script {
	if l.isGuarded() {
		return l.claim.kind.guarded.acquire
	}
	return l.claim.kind.acquire
}

func (l *Lock) extendScript() *script.Script {
	if l.isGuarded() {
		return l.claim.kind.guarded.extend
	}
	return l.claim.kind.extend
}

// releaseScript is what releases the locks at keys, and what it takes: in strict
// their lease records too. Fences stay.
func (l *Lock) releaseScript(keys []any) (*script.Script, []any) {
	if !l.c.opts.strict() {
		return l.claim.kind.release, keys
	}
	return l.claim.kind.guarded.release, appendNames(keys[:len(keys):len(keys)], leasePrefix, keys)
}

func appendNames(dst []any, prefix string, keys []any) []any {
	for _, key := range keys {
		dst = append(dst, prefix+key.(string))
	}
	return dst
}

// allKeys is the keys of the lock, of their fences and of their lease records, of
// the latter two what is used. The caller must hold l.mu, or be alone with l.
func (l *Lock) allKeys() []any {
	if l.claim.sides == nil {
		l.claim.sides = l.withSides(l.claim.keys)
	}
	return l.claim.sides
}

// withSides appends the fences and lease records of the lock's keys, in a new
// slice.
func (l *Lock) withSides(keys []any) []any {
	all := append(make([]any, 0, len(keys)+2*len(l.claim.keys)), keys...)
	if l.opts.fenced {
		all = appendNames(all, fencePrefix, l.claim.keys)
	}
	if l.c.opts.strict() {
		all = appendNames(all, leasePrefix, l.claim.keys)
	}
	return all
}

func (l *Lock) askGuardedAcquire(r *round) {
	floor := r.agreedFence // of the pilot: if the others give the same, one round is enough
	if floor == 0 {
		floor = l.c.fences.floor(l.c.opts.clock.Now().Wall())
	}
	l.askGuarded(r, l.acquireScript(), argUnused, floor, l.c.nodeTimeout(l.opts.ttl))
}

func (l *Lock) askGuardedExtend(r *round, again any) {
	// A renewal may wait in the pipelines for as long as the lock is valid.
	wait := max(l.c.nodeTimeout(l.opts.ttl), l.remaining(r.Start))
	l.askGuarded(r, l.claim.kind.guarded.extend, again, l.claim.fence, wait)
}

// argUnused stands where a script needs nothing, argNone for what is off.
var argUnused, argNone any = "0", ""

// askGuarded asks by a guarded script; third is what it takes as such, and number
// the token to give at least or to keep.
func (l *Lock) askGuarded(r *round, s *script.Script, third any, number uint64, wait time.Duration) {
	r.guard, r.guarded = l.newGuardedRound(), true
	n := l.guardedNumbers(&r.guard, number, wait)
	if s == script.GuardedAcquire && len(l.claim.keys) == 1 {
		r.encodeAcquire(l, n)
		r.send(evalSHA, 0, time.Time{})
		return
	}
	keys := l.allKeys()
	if s == script.GuardedReaderAcquire {
		keys = l.withSides(l.acquireKeys())
	}
	args := l.guardedArgs(&r.guard, third, n)
	if l.claim.kind.longest {
		r.eval(s, keys, 0, time.Time{}, append([]any{l.c.opts.longestArg}, args[:]...)...)
		return
	}
	r.eval(s, keys, 0, time.Time{}, args[:]...)
}

// newGuardedRound reads the wall clock: what follows is sent at once.
func (l *Lock) newGuardedRound() guardedRound {
	var g guardedRound
	if l.c.opts.strict() {
		g.sent, g.skew = l.c.opts.clock.Now().Wall(), guard.Skew(l.opts.ttl)
	}
	return g
}

// guardedNumbers are those that script/guarded.lua takes.
type guardedNumbers struct {
	fence       int64 // if the lock is fenced
	least, most int64 // in strict
}

func (l *Lock) guardedNumbers(g *guardedRound, fence uint64, wait time.Duration) (n guardedNumbers) {
	if l.opts.fenced {
		n.fence = int64(min(fence, math.MaxInt64)) //nolint:gosec // it is in range
	}
	if g.skew != 0 {
		sent, skew := g.sent.UnixMicro(), g.skew.Microseconds()
		n.least, n.most = sent-skew, sent+wait.Microseconds()+skew
	}
	return n
}

// guardedArgs is what script/guarded.lua takes.
func (l *Lock) guardedArgs(g *guardedRound, third any, n guardedNumbers) [7]any {
	args := [7]any{l.claim.token, l.ttlArg(), third, argNone, argNone, argNone, l.c.opts.retentionArg}
	if l.opts.fenced {
		args[3] = n.fence
	}
	if g.skew != 0 {
		args[4], args[5] = n.least, n.most
	}
	return args
}

// What guarded scripts reply beside 0 to 4, which are as in the plain ones.
const (
	codeSkewed = 5
	codeLeased = 6
)

// A guardedReply is what script/guarded.lua says.
type guardedReply struct {
	code  int64
	fence uint64
	slot  int           // of the key that was granted, of several
	held  *outcome.Held // code 6: to whom the lock is leased
}

// readReply reads what a guarded script replied and compares the clocks. ok: it
// is such a reply. The error is a *SkewError.
func (g *guardedRound) readReply(c *Client, reply any) (found guardedReply, ok bool, err error) {
	three, parts, ok := startsWithThree(reply)
	if !ok {
		return found, false, nil
	}
	code, fence, micros := three[0], three[1], three[2]
	if fence < 0 || fence >= lastFence {
		return found, false, nil
	}
	found.code, found.fence = code, uint64(fence)
	if code == 1 && fence == 0 {
		found.fence = g.floor
	}
	switch {
	case code == codeLeased && len(parts) == 2:
		ms, isNumber := parts[0].(int64)
		token, isText := parts[1].([]byte)
		found.held = leasedTo(string(token), ms)
		return found, isNumber && isText, nil
	case len(parts) == 1:
		slot, isNumber := parts[0].(int64)
		if !isNumber || slot < 1 || slot > maxKeys {
			return found, false, nil
		}
		found.slot = int(slot)
	case len(parts) != 0:
		return found, false, nil
	}
	if g.skew != 0 {
		err = g.compare(time.UnixMicro(micros), c.opts.clock.Now().Wall())
	}
	if code == codeSkewed && err == nil { // it came late, or we read our clock late
		err = &SkewError{Limit: g.skew}
	}
	return found, true, err
}

// startsWithThree splits the reply of a guarded script: three integers, and what
// stands behind them.
func startsWithThree(reply any) (three pipeline.ThreeInts, rest []any, ok bool) {
	if exactly, ok := reply.(*pipeline.ThreeInts); ok {
		return *exactly, nil, true
	}
	parts, ok := reply.([]any)
	if !ok || len(parts) < len(three) {
		return three, nil, false
	}
	for i := range three {
		if three[i], ok = parts[i].(int64); !ok {
			return three, nil, false
		}
	}
	return three, parts[len(three):], true
}

// readGuarded reads an answer to an acquisition or extension. What a master
// grants whose clock differs does not count.
func (r *round) readGuarded(a *answer, reply any) {
	found, ok, err := r.guard.readReply(r.c, reply)
	switch {
	case err != nil:
		a.Err = err
		return
	case ok && found.code == codeLeased:
		a.Verdict, a.held = ballot.Refused, found.held
		return
	case !ok || (found.slot != 0) != (found.code == 1 && len(r.Tally().Votes) > 0) || found.slot > len(r.Tally().Votes) && found.slot != 0:
		a.Err = unexpected(reply)
		return
	}
	if r.op == opLock {
		switch found.code {
		case 1:
			a.Verdict, a.Candidate = ballot.Agreed, found.slot
		case 0:
			a.Verdict, a.held = ballot.Refused, &heldUnknown
		case 4:
			if r.script == script.GuardedReaderAcquire {
				a.Verdict, a.held = ballot.Refused, &writerWaits
			}
		}
	} else {
		a.readCode(r.op, found.code)
	}
	if a.Verdict == ballot.Failed {
		a.Err = unexpected(reply)
		return
	}
	a.fence = found.fence
	r.c.fences.see(found.fence, r.c.opts.clock.Now().Wall())
}

// takeGuarded asks the pilot alone for the lock, as take does.
func (l *Lock) takeGuarded(ctx context.Context, pilot int, score, only any) (granted bool, t turn, err error) {
	c := l.c
	g := l.newGuardedRound()
	floor := c.fences.floor(c.opts.clock.Now().Wall())
	args := l.guardedArgs(&g, only, l.guardedNumbers(&g, floor, c.patience(pilot, l.opts.ttl)))
	keys := l.withSides([]any{l.claim.keys[0], queueKey(l.fullKey())})
	q := c.askVote(pilot, script.GuardedQueue, keys, append([]any{argTake, c.id, score}, args[:]...)...)
	reply, err := q.vote(ctx, l)
	if err != nil {
		return false, turn{}, err
	}
	found, ok, err := g.readReply(c, reply)
	switch {
	case err != nil:
		return false, turn{}, err
	case ok && found.code == 1:
		l.claim.fence = found.fence
		c.fences.see(found.fence, c.opts.clock.Now().Wall())
		return true, turn{}, nil
	}
	t, err = readTurn(reply, nil)
	return false, t, err
}
