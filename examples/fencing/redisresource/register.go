// Package redisresource keeps a value in Redis. It rejects former holders of the
// lock by their fencing tokens, in a Lua script that compares and writes in one
// step.
//
// The Redis server that has the value is no master of the lock, and it should
// persist its data. If it loses them it also forgets the highest token, and a
// former holder could write again.
package redisresource

import (
	_ "embed"
	"errors"
	"fmt"
	"strconv"

	"github.com/gomodule/redigo/redis"
)

// ErrStale is returned to a former holder, after a later holder has claimed the
// value. Nothing was changed. The former holder should stop its work under the lock.
var ErrStale = errors.New("a later holder of the lock has claimed the value")

// A Holder holds the lock: it is a *redlock.Lock acquired with redlock.WithFencing.
type Holder interface {
	Fence() uint64 // rises from holder to holder
	Token() string // differs for each holder
}

// maxFence is the highest token that Lua's numbers represent exactly.
const maxFence uint64 = 1<<53 - 1

//go:embed write.lua
var source string

var script = redis.NewScript(1, source)

// A Register is one value in Redis. Like its connection it is for one goroutine at a
// time.
type Register struct {
	Conn redis.Conn
	Key  string
}

// Claim makes h the current holder and returns the value. From then on no former holder
// can change the value.
func (r *Register) Claim(h Holder) (value string, err error) { return r.run(h, "claim", "") }

// Write sets the value that the holder has claimed.
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
