// Package shards spreads keys over several lists of masters, where one list is too slow for all locks. Copy it: it has
// no state, and the masters know nothing of it.
package shards

import (
	"bytes"
	"crypto/sha256"

	"github.com/redquorum/redquorum/redlock"
)

// Shards are the clients by the names of their shards. All programs must have the same names for the same masters.
type Shards map[string]*redlock.Client

// Of is the client of the shard that a key belongs to: s.Of(key).Lock(ctx, key).
func (s Shards) Of(key string) *redlock.Client { return s[s.Name(key)] }

// Name is the shard's name, by rendezvous hashing: the one whose name together with the key has the greatest hash. So
// a new shard takes its share of the keys, and no other key moves.
func (s Shards) Name(key string) (name string) {
	var greatest [sha256.Size]byte
	for n := range s {
		if sum := sha256.Sum256([]byte(n + "\x00" + key)); name == "" || bytes.Compare(sum[:], greatest[:]) > 0 {
			name, greatest = n, sum
		}
	}
	return name
}
