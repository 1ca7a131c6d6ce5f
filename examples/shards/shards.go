// Package shards spreads keys over several lists of masters, if one list is too slow for all
// locks. Copy it: it has no state, and the masters know nothing of it.
package shards

import (
	"bytes"
	"crypto/sha256"

	"github.com/redquorum/redquorum/redlock"
)

// Shards are the clients by the names of their shards. All programs must use the same names
// for the same masters.
type Shards map[string]*redlock.Client

// Of returns the client of the shard that a key belongs to: s.Of(key).Lock(ctx, key).
func (s Shards) Of(key string) *redlock.Client { return s[s.Name(key)] }

// Name returns the shard of a key by rendezvous hashing: the hash of the shard's name and the
// key is the greatest. A new shard takes its share of the keys, and no other key moves.
func (s Shards) Name(key string) (name string) {
	var greatest [sha256.Size]byte
	for n := range s {
		if sum := sha256.Sum256([]byte(n + "\x00" + key)); name == "" || bytes.Compare(sum[:], greatest[:]) > 0 {
			name, greatest = n, sum
		}
	}
	return name
}
