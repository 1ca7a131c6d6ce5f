package redlock

import (
	"sync/atomic"
	"time"

	"github.com/redquorum/redquorum/internal/hash"
)

// contended remembers for a moment for which keys this client had to wait. A
// call for such a key asks the pilot first: asking all masters would mostly
// fail, and in the instant between release and hand-over it would take votes
// from whoever's turn it is. It is a hint: keys may share a slot, and to forget
// one, or to take a free key for contended, costs a round trip.
type contended [256]atomic.Int64 // until when, in ns of Go's clock since the client was made

// contendedFor is how long a key counts as contended after it was waited for.
const contendedFor = time.Second

func (c *Client) contendedSlot(key string) *atomic.Int64 {
	return &c.contended[hash.Mix(hash.Text(key))%uint64(len(c.contended))]
}

// wasContended reports whether the key was waited for lately.
func (c *Client) wasContended(key string) bool {
	until := c.contendedSlot(key).Load()
	return until != 0 && int64(c.keeper.now()) < until
}

// setContended notes whether the key had to be waited for.
func (c *Client) setContended(key string, waited bool) {
	until := int64(0)
	if waited {
		until = int64(c.keeper.now() + contendedFor)
	}
	c.contendedSlot(key).Store(until)
}
