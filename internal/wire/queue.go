package wire

import (
	"context"
	"time"

	"github.com/redquorum/redquorum/internal/script"
)

// The advisory queues of keys, at their pilots. docs/project/waiting.md says how they are used.

// The keys of the queues: version 1.
const (
	queuePrefix = ReservedPrefix + "q:1:{"
	queueSuffix = "}"
)

// queueKey is where the queue of a key is; key has the prefix.
func queueKey(key string) string { return queuePrefix + key + queueSuffix }

// queueExpiry is how long a queue lives while nobody uses it; as in queue.lua.
const queueExpiry = 30 * time.Second

// Arguments of the queue's script, boxed once.
var (
	argWait, argTake, argLeave any = "wait", "take", "leave"
	argAnybody, argOnlyFirst   any = "0", "1"
)

// NoPlace is the score of a client that has no place in the queue and wants none.
var NoPlace any = "-"

// WaitAt asks a pilot whether it is our turn for a key, and keeps our place there.
func (w *Wire) WaitAt(ctx context.Context, pilot int, key string, score any, limit time.Duration) (Turn, error) {
	return readTurn(w.query(pilot, time.Time{}, script.Queue, []string{key, queueKey(key)}, argWait, w.cfg.ID, score).wait(ctx, limit))
}

// LeaveQueue takes this client out of a queue. If the key is free, the next client there is
// called. Nobody waits for the answer.
func (w *Wire) LeaveQueue(pilot int, key string) {
	w.query(pilot, time.Now().Add(queueExpiry), script.Queue, []string{key, queueKey(key)}, argLeave, w.cfg.ID)
}

// A KeysQuery is a question about the queues of several keys of one pilot.
type KeysQuery struct {
	*Query
	keys []string
}

// WaitAtEach asks a pilot whether it is our turn for one of the keys, and keeps our
// places there. Answer reads the answer.
func (w *Wire) WaitAtEach(pilot int, keys []string, score any) KeysQuery {
	return KeysQuery{w.query(pilot, time.Time{}, script.QueueSlots, withQueues(keys), argWait, w.cfg.ID, score), keys}
}

// LeaveEach takes this client out of the queues of keys at a pilot. Where a key is free, the
// next client there is called. Nobody waits for the answer.
func (w *Wire) LeaveEach(pilot int, keys []string) {
	w.query(pilot, time.Now().Add(queueExpiry), script.QueueSlots, withQueues(keys), argLeave, w.cfg.ID)
}

func withQueues(keys []string) []string {
	all := make([]string, 0, 2*len(keys))
	for _, key := range keys {
		all = append(all, key, queueKey(key))
	}
	return all
}

// Answer waits for the reply of queueslots.lua to "wait": a turn, and its key.
func (q KeysQuery) Answer(ctx context.Context, limit time.Duration) (Turn, string, error) {
	return q.read(q.wait(ctx, limit))
}

func (q KeysQuery) read(reply any, err error) (Turn, string, error) {
	if err != nil {
		return Turn{}, "", err
	}
	if parts, ok := reply.([]any); ok && len(parts) == 5 {
		ours, ok1 := parts[0].(int64)
		about, ok2 := parts[1].(int64)
		held, ok3 := readHolder(parts[2:])
		if ok1 && ok2 && ok3 && 1 <= about && about <= int64(len(q.keys)) && (ours == 0 || ours == about) {
			return Turn{Ours: ours != 0, Held: held}, q.keys[about-1], nil
		}
	}
	return Turn{}, "", unexpected(reply)
}
