package wire

import (
	"time"

	"github.com/redquorum/redquorum/internal/chance"
	"github.com/redquorum/redquorum/internal/quorum"
)

// A Claim is what an attempt or a hold has on the masters. It must not be copied: Keys
// may point into the claim itself.
type Claim struct {
	Kind   *Kind
	Keys   []string // with the prefix
	Token  string
	TTL    time.Duration
	Fenced bool // with a fencing token

	// From is the token that the acquisition replaces: the claim adopts a lock that was
	// handed over. "": the lock must be free.
	From string

	Fence  uint64           // the fencing token; 0: none
	Absent quorum.MasterSet // masters that certainly have nothing of ours

	one   [1]string
	sides []string // see allKeys; nil: not made yet
}

// SetPlain makes an unused claim one for the plain lock of one key. The key has the prefix.
func (c *Claim) SetPlain(key string) {
	c.Kind = Plain
	c.setKey(key)
}

func (c *Claim) setKey(key string) {
	c.one[0] = key
	c.Keys, c.sides = c.one[:], nil
}

// Key returns the first key, with the prefix.
func (c *Claim) Key() string {
	return c.Keys[0]
}

// Again returns a claim for another attempt at the same lock. Both claims share the keys.
func (c *Claim) Again() Claim {
	return Claim{Kind: c.Kind, Keys: c.Keys, TTL: c.TTL, Fenced: c.Fenced}
}

// Adopts reports whether the claim adopts a lock that was handed over.
func (c *Claim) Adopts() bool { return c.From != "" }

// Op returns the operation that acquires the claim.
func (c *Claim) Op() Op {
	if c.Adopts() {
		return OpAdopt
	}
	return OpLock
}

func (c *Claim) milliseconds() int64 { return c.TTL.Milliseconds() }

// id returns a number for the claim's key, for Command.Key: 0 if it has several keys.
func (c *Claim) id() uint64 {
	if len(c.Keys) > 1 {
		return 0
	}
	return chance.Mix(chance.HashText(c.Key())) | 1<<63 // not 0
}

// allKeys returns the keys of the lock, and of its fences and lease records if it uses them.
func (w *Wire) allKeys(c *Claim) []string {
	if c.sides == nil {
		c.sides = w.withSides(c, c.Keys)
	}
	return c.sides
}

// withSides appends the fences and lease records of the claim's keys, in a new slice.
func (w *Wire) withSides(c *Claim, keys []string) []string {
	all := append(make([]string, 0, len(keys)+2*len(c.Keys)), keys...)
	if c.Fenced {
		all = appendNames(all, fencePrefix, c.Keys)
	}
	if w.cfg.Strict {
		all = appendNames(all, leasePrefix, c.Keys)
	}
	return all
}

func appendNames(dst []string, prefix string, keys []string) []string {
	for _, key := range keys {
		dst = append(dst, prefix+key)
	}
	return dst
}

// withQueue returns the keys that queue.lua takes.
func (c *Claim) withQueue() []string { return []string{c.Keys[0], queueKey(c.Key())} }

func (c *Claim) acquireKeys() []string {
	if c.Kind == Reader {
		return []string{c.Keys[0], intentPrefix + c.Key()}
	}
	return c.Keys
}
