package wire

import (
	"time"

	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/script"
)

// A release calls the client that waits first: at the key's pilot it looks into the advisory
// queue.

// A Successor is the one to whom a release has handed a key over.
type Successor uint8

// Successors.
const (
	Nobody        Successor = iota // waits at the pilot, as far as is known
	AnotherClient                  //
	ThisClient                     //
)

// Successors hear of releases, with no lock held. They must not block.
type Successors interface {
	// Released hears of a master's answer to the release of a key.
	Released(master int, key string, to Successor)
	// AnybodyWaits reports whether any call of this client waits.
	AnybodyWaits() bool
}

// Release releases the lock. For a master that cannot be reached now, it is kept until keep.
// handOver: call the next waiter, even where there is nothing to release. nil: there is no
// master to ask. The caller holds what guards the claim, and sends nothing more of it.
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
	p.command.Batch = pipeline.BatchPart{ // without a Script: not every kind of lock has one
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

// split takes the pilot's reply apart: the reply of release.lua, and who was called.
func (p *releaseAtPilot) split(reply any) (released any, to Successor) {
	n, ok := reply.(int64)
	if !ok || n < 0 || n > 29 {
		return reply, Nobody
	}
	return n % 10, Successor(n / 10)
}

// splitSuccessors takes the reply to a release with handOver apart: what it says of the
// release, and then pairs: the number of a key, counted from 1, and who was called for it.
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

// notifyEach reports for each key to whom the release at a master has handed it over. Nobody
// waits for a key only if the key's pilot has named nobody.
func (a *Ask) notifyEach(master int, successors []any) {
	to := a.w.cfg.Successors
	here := to.AnybodyWaits()
	if len(successors) == 0 && !here {
		return
	}
	said := make(map[int]bool, len(successors)/2)
	for i := 0; i+1 < len(successors); i += 2 {
		number, ok1 := successors[i].(int64)
		told, ok2 := successors[i+1].(int64)
		if !ok1 || !ok2 || number < 1 || number > int64(len(a.handOver)) || told < 0 || told > int64(ThisClient) {
			return
		}
		key := a.handOver[number-1]
		if said[int(number-1)] = told > 0; told > 0 {
			to.Released(master, key, Successor(told))
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
