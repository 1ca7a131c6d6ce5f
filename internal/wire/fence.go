package wire

import (
	"errors"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/ballot"
	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/script"
)

// fencePrefix begins the keys of fences, version 1: the highest fencing token that a
// master has given for the lock whose key follows.
const fencePrefix = ReservedPrefix + "fence:1:"

const (
	// lastFence is 2^53 - 1: above it Lua cannot tell one whole number from the next.
	lastFence = 1<<53 - 1
	// mostAhead is how far ahead of this client's clock a token may be and still raise the
	// tokens of other keys.
	mostAhead = 366 * 24 * time.Hour
)

// Fences is what a client knows of fencing tokens, and what it has done for them.
type Fences struct {
	Tokens  atomic.Uint64 // that were given
	Raises  atomic.Uint64 // second rounds
	highest atomic.Uint64 // of all that were seen, of any key
}

// floor is the lowest value for the next token. It comes from the clock, so that all masters
// give the same token and none has to be raised. It is above all tokens that this client has
// seen, in case its clock was set back. wall is the client's clock.
func (f *Fences) floor(wall time.Time) uint64 {
	return max(uint64(max(wall.UnixMicro(), 1)), f.highest.Load()+1)
}

// leastFence is what an acquisition of the claim proposes.
func (w *Wire) leastFence(c *Claim) uint64 {
	if c.Floor != 0 {
		return c.Floor
	}
	return w.Fences.floor(w.cfg.Clock.Now().Wall())
}

// Highest is the highest token that was seen; 0: none was.
func (f *Fences) Highest() uint64 { return f.highest.Load() }

// See notes a token, unless it is far in the future: then somebody has set it by hand, and
// it must not use up the numbers of all other keys.
func (f *Fences) See(token uint64, wall time.Time) {
	if most := wall.Add(mostAhead).UnixMicro(); int64(token) > most { //nolint:gosec // it is below 2^53
		return
	}
	for {
		highest := f.highest.Load()
		if token <= highest || f.highest.CompareAndSwap(highest, token) {
			return
		}
	}
}

// errFenceMoved is the reason of a master that a second round reached too late: the lock is
// not ours any more, or its fence has given a higher token meanwhile.
var errFenceMoved = errors.New("its fencing token could not be raised: the lock or the fence has changed")

// Given is the token that each agreeing master gave, and which masters these are, as bits.
func (a *Ask) Given() (tokens []uint64, agreeing uint64) {
	tokens = make([]uint64, len(a.facts))
	a.Lock()
	defer a.Unlock()
	for i := range a.Answers() {
		if answer := &a.Answers()[i]; answer.Verdict == ballot.Agreed && answer.Candidate == a.Tally().Leads {
			tokens[i] = a.facts[i].fence
			agreeing |= 1 << i
		}
	}
	return tokens, agreeing
}

// Raise is the second round of an acquisition (S8). The first began at start. Masters that
// agreed in it and store the token agree already. Those that gave a lower token are asked to
// raise it. The others do not count.
func (w *Wire) Raise(c *Claim, start drift.Instant, given []uint64, agreeing, stored uint64) *Ask {
	a := w.newAsk(OpRaise)
	a.read = readRaise
	a.Start, a.Agreed = start, stored
	skip := w.everyone &^ agreeing
	token := strconv.FormatUint(c.Fence, 10)
	if c.Kind.SharesFence {
		a.eval(script.RaiseKnown, appendNames(nil, fencePrefix, c.Keys), skip, time.Time{}, token, w.retention)
		return a
	}
	// A writer's fences are raised by compare-and-set with what each has given.
	a.script = script.Raise
	keys := appendNames(c.Keys[:len(c.Keys):len(c.Keys)], fencePrefix, c.Keys)
	for i, f := range given {
		if (skip|stored)&(1<<i) == 0 {
			args := a.script.Args(nil, keys, c.Token, strconv.FormatUint(f, 10), token, w.retention)
			a.SetOwn(i, &pipeline.Command{Cmd: evalSHA, Encoded: pipeline.AppendCommand(nil, evalSHA, args...)})
		}
	}
	a.ask(evalSHA, skip, time.Time{})
	return a
}

// readRaise reads what raise.lua says.
func readRaise(_ *Ask, _ *fact, reply any) ballot.Answer {
	switch reply {
	case any(int64(1)):
		return agreed
	case any(int64(0)):
		return ballot.Answer{Verdict: ballot.Refused, Err: errFenceMoved}
	}
	return ballot.Answer{}
}
