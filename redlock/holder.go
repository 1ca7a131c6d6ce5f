package redlock

import (
	"context"
	"strconv"
	"time"
)

// askHolders asks the masters that refused an acquisition who holds the key,
// and puts what they say into the round's answers. It waits for about as long
// as the acquisition itself took: a master that has fallen silent since must
// not hold up a decided attempt (L1).
func (c *Client) askHolders(ctx context.Context, failed *round, l *Lock, refused uint64, elapsed time.Duration) {
	r := c.newRound(opHolder)
	defer r.letGo()
	l.askHolder(r, c.everyone()&^refused)
	limit := min(c.nodeTimeout(l.opts.ttl), 5*time.Millisecond+2*elapsed)
	_ = r.wait(ctx, limit)

	r.mu.Lock()
	defer r.mu.Unlock()
	failed.mu.Lock()
	defer failed.mu.Unlock()
	for i := range r.answers {
		if h := r.answers[i].held; h != nil {
			h.Key = c.withoutPrefix(h.Key)
			failed.answers[i].held = h
		}
	}
}

// readHolder reads what the scripts holder and holderamong return.
func readHolder(reply any) (*HeldError, bool) {
	parts, ok := reply.([]any)
	if ok && len(parts) == 4 {
		return readHolderAmong(parts)
	}
	if !ok || len(parts) != 3 {
		return nil, false
	}
	kind, ok1 := parts[0].([]byte)
	value, ok2 := parts[1].([]byte)
	ms, ok3 := parts[2].(int64)
	if !ok1 || !ok2 || !ok3 {
		return nil, false
	}
	h := &HeldError{Type: string(kind)}
	if h.Type == "string" || h.Type == leaseType {
		h.Token = string(value)
		h.Owner = ownerOf(h.Token)
	} else {
		h.Readers, _ = strconv.Atoi(string(value)) // "": they are not readers
	}
	h.TTL = timeLeft(ms)
	return h, true
}
