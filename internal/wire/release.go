package wire

import (
	"time"

	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/script"
)

// A release calls the first waiter in the advisory queue, which the key's pilot keeps.

// A Successor says which client a release has handed a key over to.
type Successor uint8

// Successors.
const (
	Nobody        Successor = iota // no client is known to wait at the pilot
	AnotherClient                  //
	ThisClient                     //
)

// Successors are notified of releases, with no mutex held. They must not block.
type Successors interface {
	// Released is called when a master has answered the release of a key, or has failed to.
	Released(master int, key string, to Successor)
	// AnybodyWaits reports whether any call of this client waits.
	AnybodyWaits() bool
}

// Release releases the lock. A release for a master that is unreachable now is kept until keep.
// With handOver it calls the next waiter, even where there is nothing to release. It returns
// nil if no master has to be asked. The caller holds the mutex that guards the claim, and sends
// no more commands for the claim.
func (w *Wire) Release(c *Claim, keep time.Time, handOver bool) *Ask {
	absent := c.Absent
	if absent&w.everyone == w.everyone {
		return nil
	}
	a := w.newAsk(OpRelease)
	if handOver && c.Kind == Reader {
		a.releaseReader(c, absent, keep)
		return a
	}
	if handOver && c.Kind.handOver != nil {
		for _, key := range c.Keys {
			if master := w.cfg.Pilots.Of(key, 0); master != quorum.NoPilot {
				absent.Remove(master)
			}
		}
		a.handOver = c.Keys
		s, keys := w.handOverScript(c.Kind, c.Keys)
		a.eval(s, keys, absent, keep, c.Token, w.cfg.ID)
		return a
	}
	if handOver && c.Kind == Plain {
		if master := w.cfg.Pilots.Of(c.Key(), 0); master != quorum.NoPilot {
			a.atPilot.master = master
			a.atPilot.release.encode(w, c)
			absent.Remove(master)
		}
	}
	if c.Kind == Plain {
		a.encodeRelease(c)
		a.send(evalSHA, absent, keep)
		return a
	}
	s, keys := w.releaseScript(c, c.Keys)
	if c.Kind == Reader {
		a.eval(s, keys, absent, keep, c.Token, w.longest)
	} else {
		a.eval(s, keys, absent, keep, c.Token)
	}
	return a
}

// releaseAtPilot is the part of a release that only the pilot gets.
type releaseAtPilot struct {
	key     string
	command pipeline.Command
	plain   bool // the pilot refused it, and gets the command of the others
}

// encode makes the pilot's own command. It boxes no arguments: most releases find nobody
// waiting, and should not pay for that.
func (p *releaseAtPilot) encode(w *Wire, c *Claim) {
	key := c.Key()
	p.key = key
	n, keys := 8, "2"
	if w.cfg.Strict {
		n, keys = 9, "3"
	}
	b := pipeline.AppendArray(p.command.Encoded[:0], n)
	b = pipeline.AppendBulk(b, evalSHA)
	b = pipeline.AppendBulk(b, script.Queue.SHA)
	b = pipeline.AppendBulk(b, keys)
	at := len(b)
	b = pipeline.AppendBulk(b, key)
	keyEnd := len(b)
	b = pipeline.AppendBulk(b, queuePrefix, key, queueSuffix)
	queueEnd := len(b)
	if w.cfg.Strict {
		b = pipeline.AppendBulk(b, leasePrefix, key)
	}
	leaseEnd := len(b)
	b = pipeline.AppendBulk(b, "release")
	b = pipeline.AppendBulk(b, w.cfg.ID)
	token := len(b)
	b = pipeline.AppendBulk(b, c.Token)

	p.command.Encoded = b
	p.command.Batch = pipeline.BatchPart{ // encodeRelease sets Script
		Keys: [3]pipeline.Piece{
			pipeline.PieceOf(at, keyEnd), pipeline.PieceOf(keyEnd, queueEnd), pipeline.PieceOf(queueEnd, leaseEnd),
		},
		Args: pipeline.PieceOf(token, len(b)),
	}
}

func (p *releaseAtPilot) clear() {
	p.key, p.plain = "", false
	p.command = pipeline.Command{Encoded: p.command.Encoded[:0]}
}

// refused reports whether the pilot has just refused its own command, for example because a
// permission is missing. The lock must be released there all the same.
func (p *releaseAtPilot) refused(w *Wire, call *pipeline.Call) bool {
	if p.plain || !pipeline.IsReply(call.Err) {
		return false
	}
	p.plain = true
	w.cfg.Pilots.Forbidden(call.Slot, call.Err)
	return true
}

// split divides the pilot's reply into that of release.lua and the client that was called.
func (p *releaseAtPilot) split(reply any) (released any, to Successor) {
	n, ok := reply.(int64)
	if !ok || n < 0 || n > 29 {
		return reply, Nobody
	}
	return n % 10, Successor(n / 10)
}

// splitSuccessors divides the reply to a release with handOver: the result of the release, and
// pairs of a key's number, counted from 1, and the client that was called for the key.
func splitSuccessors(reply any) (released any, successors []any) {
	switch parts := reply.(type) {
	case *pipeline.ThreeInts: // of one key
		return parts[0], []any{parts[1], parts[2]}
	case []any:
		if len(parts)%2 == 1 {
			return parts[0], parts[1:]
		}
	}
	return reply, nil
}

// notifyEach reports which client the release at a master has handed each key over to. It
// reports Nobody only if the master is the key's pilot and has called no client.
func (a *Ask) notifyEach(master int, successors []any) {
	to := a.w.cfg.Successors
	here := to.AnybodyWaits()
	if len(successors) == 0 && !here {
		return
	}
	said := make(map[int]bool, len(successors)/2)
	for i := 0; i+1 < len(successors); i += 2 {
		number, ok1 := successors[i].(int64)
		successor, ok2 := successors[i+1].(int64)
		if !ok1 || !ok2 || number < 1 || number > int64(len(a.handOver)) ||
			successor < 0 || successor > int64(ThisClient) {
			return
		}
		key := a.handOver[number-1]
		if said[int(number-1)] = successor > 0; successor > 0 {
			to.Released(master, key, Successor(successor))
		}
	}
	if !here {
		return
	}
	for i, key := range a.handOver {
		if !said[i] && a.w.cfg.Pilots.Of(key, 0) == master {
			to.Released(master, key, Nobody)
		}
	}
}
