package wire

import (
	"context"
	"time"

	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/script"
	"github.com/redquorum/redquorum/internal/token"
)

// A key's pilot keeps its advisory queue. docs/explanation/waiting.md says how it is used.

// The keys of the queues: version 1.
const (
	queuePrefix = ReservedPrefix + "q:1:{"
	queueSuffix = "}"
)

// queueKey returns the name of a key's queue; key has the prefix.
func queueKey(key string) string { return queuePrefix + key + queueSuffix }

// queueExpiry is how long a queue lives while nobody uses it; as in queue.lua.
const queueExpiry = 30 * time.Second

// Arguments of the queue's script, boxed once.
var (
	argWait, argTake, argLeave, argLook any = "wait", "take", "leave", "look"
	argAnybody, argOnlyFirst            any = "0", "1"
)

// CalledType is the Type of a holder if the lock is free, but kept for a client that was called.
const CalledType = "called"

// NoPlace is the score of a client that has no place in the queue and wants none.
var NoPlace any = "-"

// WaitAt asks a pilot whether it is our turn for a key, and keeps our place there.
func (w *Wire) WaitAt(ctx context.Context, pilot int, key string, score any, limit time.Duration) (Turn, error) {
	q := w.query(pilot, time.Time{}, script.Queue, []string{key, queueKey(key)}, argWait, w.cfg.ID, score)
	return readTurn(q.wait(ctx, limit))
}

// LeaveQueue takes this client out of a queue. If the key is free, the next client there is
// called. Nobody waits for the answer.
func (w *Wire) LeaveQueue(pilot int, key string) {
	w.query(pilot, time.Now().Add(queueExpiry), script.Queue, []string{key, queueKey(key)}, argLeave, w.cfg.ID)
}

// StillHeld asks all masters whether they have a token at a key. held: a quorum has it. cause is
// what ended the wait for the answers.
func (w *Wire) StillHeld(ctx context.Context, key, holder string, limit time.Duration) (held bool, cause error) {
	c := &Claim{Token: holder}
	c.SetPlain(key)
	ask := w.Verify(c, w.cfg.Ballots.Clock.Now())
	defer ask.Done()
	cause = ask.Wait(ctx, limit)
	return ask.Result().Outcome == quorum.Granted, cause
}

// IsOurs reports whether clients of this library hold a lock: a writer, or readers.
func IsOurs(h *quorum.Held) bool {
	_, _, ok := token.Parse(h.Token)
	return ok || h.Readers > 0
}

// A Look waits for the answer to LookAt, for limit at most.
type Look func(ctx context.Context, limit time.Duration) (Turn, error)

// LookAt asks a pilot who holds a key, and whether anybody waits there. It takes no place, and
// does not wait for the answer.
func (w *Wire) LookAt(pilot int, key string) Look {
	q := w.query(pilot, time.Time{}, script.Queue, []string{key, queueKey(key)}, argLook, w.id)
	return func(ctx context.Context, limit time.Duration) (Turn, error) { return readTurn(q.wait(ctx, limit)) }
}
