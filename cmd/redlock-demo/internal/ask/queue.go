package ask

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"
)

// A Waiting is a client in the queue of a lock, as docs/explanation/waiting.md has it.
type Waiting struct {
	Client string // its id
	Owner  string // its name; "": it has none
	For    time.Duration
	Called bool // the lock was handed over to it, and For is not known
}

// mostWaiting is how many of them Queue tells.
const mostWaiting = 100

// QueueKey is where the queue of a lock is.
func QueueKey(key string) string { return "redquorum:q:1:{" + key + "}" }

// Queue reads the queue of the key's lock that this master keeps, and how many
// clients are in it, of whom it tells the first 100. It changes nothing.
func (m *Master) Queue(ctx context.Context, key string) (first []Waiting, all int, err error) {
	queue := QueueKey(key)
	a := m.Do(ctx, "ZCARD", queue)
	if all, err = redis.Int(a.Reply, a.Err); err != nil || all == 0 {
		return nil, 0, err
	}
	now, err := m.Clock(ctx)
	if err != nil {
		return nil, 0, err
	}
	a = m.Do(ctx, "ZRANGE", queue, 0, mostWaiting-1, "WITHSCORES")
	pairs, err := redis.Strings(a.Reply, a.Err)
	if err != nil {
		return nil, 0, err
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		w := Waiting{Client: pairs[i]}
		if at := strings.LastIndexByte(pairs[i], ':'); at >= 0 {
			w.Owner, w.Client = pairs[i][:at], pairs[i][at+1:]
		}
		since, err := strconv.ParseFloat(pairs[i+1], 64) // µs; negative: until when it is waited for
		if w.Called = err == nil && since < 0; err == nil && since >= 0 && since < 1<<53 {
			w.For = max(now.Time.Sub(time.UnixMicro(int64(since))), 0)
		}
		first = append(first, w)
	}
	return first, max(all, len(first)), nil
}
