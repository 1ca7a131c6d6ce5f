package wire

import (
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/ballot"
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/script"
)

// The questions about a claim: acquire it, extend it, verify it, and who holds its keys.

// A Try has the parameters of one attempt, beside its claim.
type Try struct {
	Hold Hold
	// Over is decreased by one when no master can set the keys any more.
	Over   *quorum.Count
	Start  drift.Instant
	Agreed quorum.MasterSet // masters that have granted it already
	Wait   time.Duration    // how long to wait for the masters
	Take   *PilotTake       // the pilot's own command, for one key; nil: as the others
	// Called: a pilot has called this reader, so a writer that waits does not keep it out.
	Called bool
}

// Acquire asks all masters for the lock, or for the lock that the claim adopts.
func (w *Wire) Acquire(c *Claim, t *Try) *Ask {
	a := w.newAsk(c.Op())
	a.Start, a.Agreed, a.agreedFence = t.Start, t.Agreed, c.Fence
	a.Rules.Needs = w.needsOf(c)
	a.hold, a.kind = t.Hold, c.Kind
	a.Command.Key = c.id()
	t.Over.Add()
	a.Over = t.Over
	if t.Take != nil {
		a.atPilot.master, a.atPilot.take = t.Take.Pilot, t.Take
	}
	if w.scripted(c) || c.Adopts() {
		a.acquireScripted(c, t.Called, t.Wait)
		return a
	}
	a.read = c.Kind.readGrant
	if s := c.Kind.acquire; s != nil {
		if c.Kind == Reader {
			a.acquireReader(c, s, t.Called)
			return a
		}
		a.eval(s, c.acquireKeys(), 0, time.Time{}, c.Token, c.milliseconds())
		return a
	}
	if t.Take != nil {
		t.Take.encode(w, script.Queue, c.withQueue(), c.Token, c.milliseconds(), t.Take.At.only())
	}
	a.encodeSet(c)
	a.send("SET", 0, time.Time{})
	return a
}

// An Extension has the parameters of one extension, beside its claim.
type Extension struct {
	Live  Hold
	Over  *quorum.Count // as in Try
	Start drift.Instant
	Wait  time.Duration // how long the command may take to reach a master
	// Decided is called at the decision, and nobody waits for it; nil: the caller waits.
	Decided interface{ Decided(*ballot.Round) }
}

// argSetAgain: the extension script sets the key again where it is missing.
var argSetAgain any = "1"

// Extend asks all masters to extend the lock to a full TTL.
func (w *Wire) Extend(c *Claim, x *Extension) *Ask {
	a := w.newAsk(OpExtend)
	a.hold, a.TTL = x.Live, c.TTL
	x.Over.Add()
	a.Over = x.Over
	if x.Decided != nil {
		a.Decided = x.Decided
	}
	a.Start = x.Start
	a.Rules.Needs = w.needsOf(c)
	a.Command.Key = c.id()
	switch {
	case w.scripted(c):
		a.extendScripted(c, x.Wait)
	case c.Kind == Reader:
		a.eval(c.Kind.extend, c.Keys, 0, time.Time{}, c.Token, c.milliseconds(), argSetAgain, w.longest)
	default:
		a.eval(c.Kind.extend, c.Keys, 0, time.Time{}, c.Token, c.milliseconds(), argSetAgain)
	}
	return a
}

// Verify asks all masters whether the lock is still there.
func (w *Wire) Verify(c *Claim, start drift.Instant) *Ask {
	a := w.newAsk(OpVerify)
	a.Start = start
	a.Command.Key = c.id()
	a.eval(c.Kind.verify, c.Keys, 0, time.Time{}, c.Token)
	return a
}

// Holders asks the masters that are not skipped who holds the lock, and which of
// several keys is held.
func (w *Wire) Holders(c *Claim, skip quorum.MasterSet) *Ask {
	a := w.newAsk(OpHolder)
	a.read = readHolderAnswer
	if c.Kind == Set {
		a.eval(script.HolderAmong, c.Keys, skip, time.Time{})
	} else {
		a.eval(script.Holder, c.Keys, skip, time.Time{})
	}
	return a
}

// Held returns what the masters answered to Holders, by master; nil: nothing.
func (a *Ask) Held() []*quorum.Held {
	a.Lock()
	defer a.Unlock()
	all := make([]*quorum.Held, len(a.facts))
	for i := range a.facts {
		all[i] = a.facts[i].held
	}
	return all
}

// Learn copies the answers to Holders into those of the attempt a. It removes the prefix
// from the keys.
func (a *Ask) Learn(holders *Ask, withoutPrefix func(string) string) {
	holders.Lock()
	defer holders.Unlock()
	a.Lock()
	defer a.Unlock()
	for i := range holders.facts {
		if h := holders.facts[i].held; h != nil {
			h.Key = withoutPrefix(h.Key)
			a.facts[i].held = h
		}
	}
}
