package redlock

import (
	"context"
	"strconv"
	"time"

	"github.com/redquorum/redquorum/internal/outcome"
)

// askHolders asks the masters that refused an acquisition who holds the key,
// and puts what they say into the round's answers. It waits for about as long
// as the acquisition itself took: a master that has fallen silent since must
// not hold up a decided attempt (L1).
func (c *Client) askHolders(ctx context.Context, failed *round, l *Lock, refused uint64, elapsed time.Duration) {
	r := c.newRound(opHolder)
	defer r.LetGo()
	l.askHolder(r, c.everyone()&^refused)
	limit := min(c.nodeTimeout(l.opts.ttl), 5*time.Millisecond+2*elapsed)
	_ = r.Wait(ctx, limit)

	r.Lock()
	defer r.Unlock()
	failed.Lock()
	defer failed.Unlock()
	for i := range r.Answers() {
		if h := r.facts[i].held; h != nil {
			h.Key = c.withoutPrefix(h.Key)
			failed.facts[i].held = h
		}
	}
}

// readHolder reads what the scripts holder and holderamong return.
func readHolder(reply any) (*outcome.Held, bool) {
	parts, ok := reply.([]any)
	if ok && len(parts) == 4 {
		return readHolderAmong(parts)
	}
	if !ok || len(parts) != 3 {
		return nil, false
	}
	kind, ok1 := readType(parts[0])
	value, ok2 := parts[1].([]byte)
	ms, ok3 := parts[2].(int64)
	if !ok1 || !ok2 || !ok3 {
		return nil, false
	}
	h := &outcome.Held{Type: kind}
	if h.Type == "string" || h.Type == leaseType {
		h.Token = readToken(value)
		h.Owner = ownerOf(h.Token)
	} else {
		h.Readers, _ = strconv.Atoi(string(value)) // "": they are not readers
	}
	h.TTL = timeLeft(ms)
	return h, true
}

// maxType is far above the names of Redis's types, and of those of modules.
const maxType = 32

// readType reads the name of a type, which people are shown as it is: a word.
func readType(reply any) (string, bool) {
	name, ok := reply.([]byte)
	if !ok || len(name) == 0 || len(name) > maxType {
		return "", false
	}
	for _, c := range name {
		if c <= ' ' || c > '~' {
			return "", false
		}
	}
	return string(name), true
}

// readToken is a token as far as it is repeated. The scripts cut it off as well.
func readToken(value []byte) string { return string(value[:min(len(value), maxToken)]) }
