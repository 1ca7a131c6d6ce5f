package wire

import (
	"math"
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/ballot"
	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/script"
)

// Locks with a fencing token, and all locks in strict, are acquired and kept by scripts that
// return more than the plain ones; see script/guarded.lua.

// These scripts return the codes 0 to 4 as the plain ones do, and also these two.
const (
	codeSkewed = 5
	codeLeased = 6
)

// argUnused fills an argument that a script does not use. argNone turns a feature off.
var argUnused, argNone any = "0", ""

func (c *Claim) scriptedAcquire() *script.Script {
	if c.Adopts() {
		return script.GuardedAdopt
	}
	return c.Kind.scripted.acquire
}

// releaseScript returns the script that releases the locks at keys, and its keys: in strict also
// the lease records. A release leaves the fences as they are.
func (w *Wire) releaseScript(c *Claim, keys []string) (*script.Script, []string) {
	if !w.cfg.Strict {
		return c.Kind.release, keys
	}
	return c.Kind.scripted.release, withLeases(keys)
}

// handOverScript does the same for a release that calls the next waiter.
func (w *Wire) handOverScript(k *Kind, keys []string) (*script.Script, []string) {
	if !w.cfg.Strict {
		return k.handOver, keys
	}
	return k.scripted.handOver, withLeases(keys)
}

// withLeases appends the lease records of locks, in a new slice.
func withLeases(locks []string) []string {
	return appendNames(locks[:len(locks):len(locks)], leasePrefix, locks)
}

func (a *Ask) acquireScripted(c *Claim, called bool, wait time.Duration) {
	floor := a.agreedFence // the pilot's token: if the others give the same one, one round is enough
	if floor == 0 {
		floor = a.w.leastFence()
	}
	a.read = readScriptedGrant
	third := argUnused
	switch {
	case c.Adopts():
		a.read, third = readScriptedCode, c.From
	case called:
		third = argCalled
	}
	a.evalScripted(c, c.scriptedAcquire(), third, floor, wait)
}

func (a *Ask) extendScripted(c *Claim, wait time.Duration) {
	a.read = readScriptedCode
	a.evalScripted(c, c.Kind.scripted.extend, argSetAgain, c.Fence, wait)
}

// evalScripted asks with such a script. third is its third argument. number is the least token
// to give, or the token to keep.
func (a *Ask) evalScripted(c *Claim, s *script.Script, third any, number uint64, wait time.Duration) {
	w := a.w
	a.clock = w.newClockCheck(c.TTL)
	n := w.scriptedNumbers(c, &a.clock, number, wait)
	if t := a.atPilot.take; t != nil { // with the same numbers, so that the tokens are the same
		own := w.scriptedArgs(c, &a.clock, t.At.only(), n)
		t.encode(w, script.GuardedQueue, w.withSides(c, c.withQueue()), own[:]...)
	}
	if s == script.GuardedAcquire && len(c.Keys) == 1 {
		a.encodeAcquire(c, n)
		a.send(evalSHA, 0, time.Time{})
		return
	}
	keys := w.allKeys(c)
	if s == script.GuardedReaderAcquire {
		keys = w.withSides(c, c.acquireKeys())
	}
	args := w.scriptedArgs(c, &a.clock, third, n)
	if c.Kind == Reader {
		a.eval(s, keys, 0, time.Time{}, append([]any{w.longest}, args[:]...)...)
		return
	}
	a.eval(s, keys, 0, time.Time{}, args[:]...)
}

// scriptedNumbers has number arguments of script/guarded.lua.
type scriptedNumbers struct {
	fence       int64 // if the claim is fenced
	least, most int64 // in strict
}

func (w *Wire) scriptedNumbers(c *Claim, k *clockCheck, fence uint64, wait time.Duration) (n scriptedNumbers) {
	if c.Fenced {
		n.fence = int64(min(fence, math.MaxInt64)) //nolint:gosec // it is in range
	}
	if k.skew != 0 {
		sent, skew := k.sent.UnixMicro(), k.skew.Microseconds()
		n.least, n.most = sent-skew, sent+wait.Microseconds()+skew
	}
	return n
}

// scriptedArgs returns the arguments of script/guarded.lua.
func (w *Wire) scriptedArgs(c *Claim, k *clockCheck, third any, n scriptedNumbers) [7]any {
	args := [7]any{c.Token, c.milliseconds(), third, argNone, argNone, argNone, w.retention}
	if c.Fenced {
		args[3] = n.fence
	}
	if k.skew != 0 {
		args[4], args[5] = n.least, n.most
	}
	return args
}

// A scriptedReply is a reply of script/guarded.lua.
type scriptedReply struct {
	code  int64
	fence uint64
	held  *quorum.Held // with codeLeased
}

// readScriptedReply reads such a reply. ok: it is one. The error is a *guard.AbstainError. In a
// grant, a token of 0 means the floor of k.
func (w *Wire) readScriptedReply(k *clockCheck, reply any) (found scriptedReply, ok bool, err error) {
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
		found.fence = k.floor
	}
	switch {
	case code == codeLeased && len(parts) == 2:
		ms, isNumber := parts[0].(int64)
		token, isText := parts[1].([]byte)
		found.held = leasedTo(string(token), ms)
		return found, isNumber && isText, nil
	case len(parts) != 0:
		return found, false, nil
	}
	if k.skew != 0 {
		err = k.compare(time.UnixMicro(micros), w.cfg.Ballots.Clock.Now().Wall())
	}
	if code == codeSkewed && err == nil { // the command came late, or we read our clock late
		err = k.off(drift.Span{})
	}
	return found, true, err
}

// startsWithThree splits the reply into its first three integers and the rest.
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

// readScriptedGrant reads the answer to an acquisition.
func readScriptedGrant(a *Ask, f *fact, reply any) ballot.Answer {
	return a.readScripted(f, reply, func(found scriptedReply) ballot.Answer {
		read := a.kind.readGrant
		if a.kind.acquire == nil {
			read = readGrant
		}
		return read(a, f, found.code)
	})
}

// readScriptedCode reads the answer to an extension or adoption.
func readScriptedCode(a *Ask, f *fact, reply any) ballot.Answer {
	return a.readScripted(f, reply, func(found scriptedReply) ballot.Answer { return readCode(a, f, found.code) })
}

// readScripted reads what both have in common. A reply does not count if the master's clock
// differs by more than S.
func (a *Ask) readScripted(f *fact, reply any, read func(scriptedReply) ballot.Answer) ballot.Answer {
	found, ok, err := a.w.readScriptedReply(&a.clock, reply)
	switch {
	case err != nil:
		return ballot.Answer{Err: err}
	case !ok:
		return ballot.Answer{}
	case found.code == codeLeased:
		return refusal(f, found.held)
	}
	answer := read(found)
	if answer.Verdict != ballot.Pending {
		f.fence = found.fence
	}
	return answer
}
