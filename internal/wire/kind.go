package wire

import (
	"github.com/redquorum/redquorum/internal/ballot"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/script"
)

// A Kind says which commands acquire, keep and release locks of one kind on a master. Its
// scripts take the keys of the lock, the token as first argument and, where they need one,
// the TTL in milliseconds as second. The script files describe the rest.
type Kind struct {
	acquire *script.Script // nil: SET NX PX, of one key
	extend  *script.Script
	verify  *script.Script
	release *script.Script
	// scripted replaces these scripts for locks with a fencing token, and in strict.
	scripted scriptedKind
	// needs has the commands of these scripts, scriptedNeeds of scripted. init sets both.
	needs, scriptedNeeds guard.Commands
	// readGrant reads the answer to acquire, or to SET.
	readGrant func(a *Ask, f *fact, reply any) ballot.Answer
	// handOver releases as release does, and calls the next waiter. It takes the client's
	// id. nil: Wire.Release calls waiters of this kind in another way.
	handOver *script.Script
}

// scriptedKind has the scripts of a kind that know fences and leases. Only strict uses those
// that release, because a release leaves the fences as they are.
type scriptedKind struct{ acquire, extend, release, handOver *script.Script }

func init() {
	for _, k := range []*Kind{Plain, Set, Reader} {
		var plain []*script.Script
		for _, s := range []*script.Script{k.acquire, k.extend, k.verify, k.release} {
			if s != nil {
				plain = append(plain, s)
			}
		}
		k.needs = guard.CommandsOf(plain, "SET")
		scripted := []*script.Script{k.scripted.acquire, k.scripted.extend, k.verify, k.scripted.release}
		k.scriptedNeeds = guard.CommandsOf(scripted, "SET")
	}
}

// needsOf returns the commands that a master must permit so that it keeps and releases the claim.
func (w *Wire) needsOf(c *Claim) guard.Commands {
	if w.scripted(c) {
		return c.Kind.scriptedNeeds
	}
	return c.Kind.needs
}
