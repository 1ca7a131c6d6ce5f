// Package redisresource keeps a value in Redis and refuses whoever no longer
// holds the lock, by its fencing token, in a Lua script that compares and writes
// in one step.
//
// The Redis that has the value is no master of the lock: it should be one that
// keeps its data. If it loses them it forgets the highest token as well, and a
// stale holder could write once more.
package redisresource

import (
	_ "embed"
	"errors"
	"fmt"
	"strconv"

	"github.com/gomodule/redigo/redis"
)

// ErrStale is the answer to a holder that another has followed. Nothing was
// changed. It should stop what it does under the lock.
var ErrStale = errors.New("a later holder of the lock has claimed the value")

// A Holder is who holds the lock: a *redlock.Lock acquired with
// redlock.WithFencing.
type Holder interface {
	Fence() uint64 // rises from holder to holder
	Token() string // tells holders apart
}

// maxFence is the highest token that Lua's numbers hold exactly.
const maxFence uint64 = 1<<53 - 1

//go:embed write.lua
var source string

var script = redis.NewScript(1, source)

// A Register is one value in Redis. It is as safe for concurrent use as its
// connection is: by one goroutine at a time.
type Register struct {
	Conn redis.Conn
	Key  string
}

// Claim says that the holder is the one from now on, and returns the value:
// before it is read, so that no holder before can change it any more.
func (r *Register) Claim(h Holder) (value string, err error) { return r.run(h, "claim", "") }

// Write sets the value, which the holder has claimed.
func (r *Register) Write(h Holder, value string) error {
	_, err := r.run(h, "write", value)
	return err
}

func (r *Register) run(h Holder, op, value string) (string, error) {
	fence := h.Fence()
	if fence == 0 || fence > maxFence {
		return "", fmt.Errorf(
			"register %q: fencing token %d: want 1 to %d: acquire the lock with redlock.WithFencing",
			r.Key, fence, maxFence)
	}
	reply, err := redis.Values(script.Do(r.Conn, r.Key, strconv.FormatUint(fence, 10), h.Token(), op, value))
	if err != nil {
		return "", fmt.Errorf("register %q: %s: %w", r.Key, op, err)
	}
	var done int
	var text string
	if _, err := redis.Scan(reply, &done, &text); err != nil {
		return "", fmt.Errorf("register %q: %s: %w", r.Key, op, err)
	}
	if done != 1 {
		return "", fmt.Errorf("register %q: %s with token %d, token %s was here: %w", r.Key, op, fence, text, ErrStale)
	}
	return text, nil
}
