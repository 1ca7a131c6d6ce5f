package observe

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/drift"
)

// Clock reads the master's clock.
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

// mostWaiting is how many clients Queue returns.
const mostWaiting = 100

// queueKey returns the key of the queue of a lock.
func queueKey(key string) string { return "redquorum:q:1:{" + key + "}" }

// Queue reads this master's queue for the key's lock (docs/explanation/waiting.md). It returns the
// first 100 clients, and how many there are. It changes nothing.
func (m *Master) Queue(ctx context.Context, key string) (first []WaitingClient, all int, err error) {
	queue := queueKey(key)
	a := m.Do(ctx, "ZCOUNT", queue, "-inf", "+inf") // the documented ACL user may do this, as waiters do
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
		w := WaitingClient{Client: pairs[i]}
		if at := strings.LastIndexByte(pairs[i], ':'); at >= 0 {
			w.Owner, w.Client = pairs[i][:at], pairs[i][at+1:]
		}
		since, err := strconv.ParseFloat(pairs[i+1], 64) // µs; negative: until when a called client is awaited
		if w.Called = err == nil && since < 0; err == nil && since >= 0 && since < 1<<53 {
			w.ForMS = max(now.Time.Sub(time.UnixMicro(int64(since))), 0).Milliseconds()
		}
		first = append(first, w)
	}
	return first, max(all, len(first)), nil
}
