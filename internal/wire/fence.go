package wire

import (
	"errors"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/ballot"
	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/script"
)

// fencePrefix begins the keys of fences, version 1; the lock's key follows. A fence is the
// highest fencing token that a master has given for that lock.
const fencePrefix = ReservedPrefix + "fence:1:"

// lastFence is 2^53 - 1: above it Lua cannot tell one whole number from the next.
const lastFence = 1<<53 - 1

// Fences counts what a client has done for fencing tokens.
type Fences struct {
	Tokens atomic.Uint64 // tokens given
	Raises atomic.Uint64 // second rounds
}

// leastFence returns the token that an acquisition proposes: the wall clock in µs. So all
// masters give the same token, and none has to be raised. Tokens of other keys play no part:
// otherwise a client whose clock was once far ahead would spread that to all its keys.
func (w *Wire) leastFence() uint64 {
	return uint64(max(w.cfg.Ballots.Clock.Now().Wall().UnixMicro(), 1))
}

// errFenceMoved is the reason when a second round reached a master too late: the lock is
// not ours any more, or its fence has given a higher token meanwhile.
var errFenceMoved = errors.New("its fencing token could not be raised: the lock or the fence has changed")

// Given appends to tokens one token for each master: what it gave if it agreed, otherwise 0.
// It also returns which masters agree.
func (a *Ask) Given(tokens []uint64) (given []uint64, agreeing quorum.MasterSet) {
	a.Lock()
	defer a.Unlock()
	for i := range a.Answers() {
		token := uint64(0)
		if answer := &a.Answers()[i]; answer.Verdict == ballot.Agreed {
			token = a.facts[i].fence
			agreeing.Add(i)
		}
		tokens = append(tokens, token)
	}
	return tokens, agreeing
}

// Raise is the second round of an acquisition (S8). The first round began at start. Masters
// in stored have the token already and count as agreed. The other masters in agreeing gave a
// lower token, and are asked to raise it. Masters that did not agree are not asked.
func (w *Wire) Raise(c *Claim, start drift.Instant, given []uint64, agreeing, stored quorum.MasterSet) *Ask {
	a := w.newAsk(OpRaise)
	a.read = readRaise
	a.Start, a.Agreed = start, stored
	skip := w.everyone &^ agreeing
	token := strconv.FormatUint(c.Fence, 10)
	if c.Kind == Reader {
		a.eval(script.RaiseKnown, appendNames(nil, fencePrefix, c.Keys), skip, time.Time{}, token, w.retention)
		return a
	}
	// Compare-and-set raises a writer's fences, with the token that each master gave.
	a.script = script.Raise
	keys := appendNames(c.Keys[:len(c.Keys):len(c.Keys)], fencePrefix, c.Keys)
	for i, f := range given {
		if !(skip | stored).Has(i) {
			args := a.script.Args(nil, keys, c.Token, strconv.FormatUint(f, 10), token, w.retention)
			a.SetOwn(i, &pipeline.Command{Cmd: evalSHA, Encoded: pipeline.AppendCommand(nil, evalSHA, args...)})
		}
	}
	a.ask(evalSHA, skip, time.Time{})
	return a
}

// readRaise reads the reply of raise.lua, or of raise_known.lua.
func readRaise(_ *Ask, _ *fact, reply any) ballot.Answer {
	switch reply {
	case any(int64(1)):
		return agreed
	case any(int64(0)):
		return ballot.Answer{Verdict: ballot.Refused, Err: errFenceMoved}
	}
	return ballot.Answer{}
}
