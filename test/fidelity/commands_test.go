package fidelity

import (
	"slices"
	"time"

	"pgregory.net/rapid"
)

// plainCommand draws a command that a stranger, an operator or this library sends between the
// scripts.
func plainCommand(t *rapid.T) []any {
	var key any = "lock"
	if likely(t, "another key", 50) {
		key = pick(t, "key", slices.Concat(locks, beside))
	}
	switch rapid.IntRange(0, 15).Draw(t, "command") {
	case 0, 1:
		return []any{"SET", key, token(t), "NX", "PX", ttl(t)}
	case 2:
		return []any{"SET", key, token(t), "PX", ttl(t)}
	case 3:
		return []any{"SET", key, token(t)}
	case 4, 5:
		return []any{"DEL", key}
	case 6:
		return []any{"PEXPIRE", key, ttl(t)}
	case 7:
		return []any{"PERSIST", key}
	case 8, 9:
		member := token(t)
		if likely(t, "a client", 40) {
			member = pick(t, "client", clients)
		}
		return []any{"ZADD", key, score(t, key == beside[0]), member}
	case 10:
		return []any{"HSET", key, pick(t, "field", []string{"v", "run", "since", "wall", "replid", "db", "how", "x"}), pick(t, "value", []string{"1", "2", "run-1", "0", "99999999999999", "abc", "adopted"})}
	case 11:
		return []any{"RPUSH", key, token(t)}
	case 12:
		return []any{"SADD", key, token(t)}
	case 13:
		return []any{"HMGET", key, "run", "since"}
	case 14:
		return []any{pick(t, "question", []string{"GET", "PTTL", "TYPE", "EXISTS", "ZCARD"}), key}
	default:
		return []any{"MGET", key, "a", "b{1}"}
	}
}

// steps of a clock. A step back lets keys live longer; the longest step is longer than any TTL
// here.
var steps = []time.Duration{
	time.Millisecond, 999 * time.Microsecond, 249 * time.Millisecond, 250 * time.Millisecond, time.Second, 1500 * time.Millisecond,
	10 * time.Second, 30 * time.Second, time.Minute, 2 * time.Hour,
	-time.Millisecond, -time.Microsecond, -time.Second, -time.Minute,
}
