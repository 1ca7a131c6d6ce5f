package redlock

import (
	"context"
	"time"

	"github.com/redquorum/redquorum/internal/wire"
)

// askHolders asks the masters that refused an acquisition who holds the key,
// and puts what they say into the round's answers. It waits for about as long
// as the acquisition itself took: a master that has fallen silent since must
// not hold up a decided attempt (L1).
func (c *Client) askHolders(ctx context.Context, failed *wire.Ask, l *Lock, refused uint64, elapsed time.Duration) {
	r := c.wire.Holders(&l.claim, c.wire.Everyone()&^refused)
	defer r.LetGo()
	limit := min(c.nodeTimeout(l.claim.TTL), 5*time.Millisecond+2*elapsed)
	_ = r.Wait(ctx, limit)
	failed.Learn(r, c.withoutPrefix)
}
