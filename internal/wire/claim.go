package wire

import (
	"time"

	"github.com/redquorum/redquorum/internal/chance"
	"github.com/redquorum/redquorum/internal/quorum"
)

// A Claim is what an attempt or a hold has on the masters. It must not be copied: Keys
// may be its own array.
type Claim struct {
	Kind   *Kind
	Keys   []string // with the prefix
	Token  string
	TTL    time.Duration
	Fenced bool // with a fencing token

	// From is the token that the acquisition replaces: the claim adopts what was handed
	// over with it. "": the lock has to be free.
	From string

	Fence  uint64           // the fencing token; 0: none
	Absent quorum.MasterSet // masters that certainly have nothing of ours

	one   [1]string
	sides []string // see allKeys; nil: not made yet
}

// SetPlain turns a claim that is not in use yet into that of one key's plain lock. The key
// has the prefix.
func (c *Claim) SetPlain(key string) {
	c.Kind = Plain
	c.setKey(key)
}

func (c *Claim) setKey(key string) {
	c.one[0] = key
	c.Keys, c.sides = c.one[:], nil
}

// Key is the first key in Redis.
func (c *Claim) Key() string {
	return c.Keys[0]
}

// Again is a claim for another attempt at the same. The keys are shared.
func (c *Claim) Again() Claim {
	return Claim{Kind: c.Kind, Keys: c.Keys, TTL: c.TTL, Fenced: c.Fenced}
}

// Adopts reports whether the claim is of a lock that was handed over.
func (c *Claim) Adopts() bool { return c.From != "" }

// Op is how the claim is acquired.
func (c *Claim) Op() Op {
	if c.Adopts() {
		return OpAdopt
	}
	return OpLock
}

// milliseconds is the TTL as commands take it.
func (c *Claim) milliseconds() int64 { return c.TTL.Milliseconds() }

// id tells commands about different keys apart: 0 where there are several.
func (c *Claim) id() uint64 {
	if len(c.Keys) > 1 {
		return 0
	}
	return chance.Mix(chance.HashText(c.Key())) | 1<<63 // not 0
}

// allKeys is the keys of the lock, and those of their fences and lease records as far as
// these are used.
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

// withQueue is what queue.lua takes.
func (c *Claim) withQueue() []string { return []string{c.Keys[0], queueKey(c.Key())} }

// acquireKeys is what the acquire script takes.
func (c *Claim) acquireKeys() []string {
	if c.Kind == Reader {
		return []string{c.Keys[0], intentPrefix + c.Key()}
	}
	return c.Keys
}
