package observe

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/pool"
)

// Clock looks at the master's clock.
func (m *Master) Clock(ctx context.Context) (drift.Reading, error) {
	a := m.Do(ctx, "TIME")
	if a.Err != nil {
		return drift.Reading{}, a.Err
	}
	parts, err := redis.Int64s(a.Reply, nil)
	if err != nil || len(parts) != 2 {
		return drift.Reading{}, errors.New("TIME: not the reply of a Redis")
	}
	return drift.Reading{Sent: a.Sent, Received: a.Received, Time: time.Unix(parts[0], parts[1]*1000)}, nil
}

// A Waiting is a client in the queue of a lock, as docs/project/waiting.md has it.
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

// LeftBy are the names of all keys that the library may leave on a master for a
// lock.
func LeftBy(key string) []any {
	return []any{key, QueueKey(key), "redquorum:fence:1:" + key, "redquorum:lease:1:" + key}
}

// Delete deletes keys on the master at the URL, on a connection of its own: one that is back again is reached at once.
// ctx bounds it.
func Delete(ctx context.Context, url string, names []any, opts ...pool.Option) error {
	m, err := Open(url, opts...)
	if err != nil {
		return err
	}
	defer m.Close()
	if _, err := m.Connect(ctx); err != nil {
		return err
	}
	return m.Do(ctx, "DEL", names...).Err
}
