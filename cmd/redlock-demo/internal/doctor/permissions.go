package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/ask"
	"github.com/redquorum/redquorum/internal/guard"
)

// A Permission is one that a master denies.
type Permission struct {
	Rule string // of an ACL, that grants it: +set, ~key, &channel
	For  string // what does not work without it
	// Vital: without it nothing can be locked.
	Vital bool
}

// A probe is a command that tells by being refused. None writes anything: the
// key is not there, and XX and the like keep it so.
type probe struct {
	cmd  string
	args []any
	use  string
}

const (
	useLocks     = "locks"
	useSeveral   = "locks of several keys"
	useReaders   = "read-write locks"
	useFencing   = "fencing tokens"
	useStrict    = "the strict guard"
	useQueue     = "waiting without polling"
	useGuard     = "the guard"
	useHygiene   = "keeping late commands of lost connections from being executed"
	useWatchdogs = "knowing the master and its clock"
)

// probes are the commands that the library uses, on a key that is not there.
func probes(key string) []probe {
	queue, intent := "redquorum:q:1:"+key, "redquorum:intent:1:"+key
	fence, lease := "redquorum:fence:1:"+key, "redquorum:lease:1:"+key
	channel := "redquorum:w:1:doctor"
	return []probe{
		{"SET", []any{key, "doctor", "XX", "PX", 1}, useLocks},
		{"GET", []any{key}, useLocks},
		{"DEL", []any{key}, useLocks},
		{"PTTL", []any{key}, useLocks},
		{"PEXPIRE", []any{key, 1}, useLocks},
		{"TYPE", []any{key}, useLocks},
		{"GETRANGE", []any{key, 0, 0}, useLocks},
		{"EVAL", []any{"return 1", 1, key}, useLocks},
		{"EVALSHA", []any{strings.Repeat("0", 40), 1, key}, useLocks},
		{"MGET", []any{key}, useSeveral},
		{"EXISTS", []any{key}, useSeveral},
		{"ZADD", []any{key, "XX", 1, "doctor"}, useReaders},
		{"ZREM", []any{key, "doctor"}, useReaders},
		{"ZSCORE", []any{key, "doctor"}, useReaders},
		{"ZCOUNT", []any{key, 0, 1}, useReaders},
		{"ZREVRANGE", []any{key, 0, 0}, useReaders},
		{"ZREVRANGEBYSCORE", []any{key, 1, 0}, useReaders},
		{"ZREMRANGEBYSCORE", []any{key, 0, 1}, useReaders},
		{"PEXPIREAT", []any{key, 1}, useReaders},
		{"ZCARD", []any{intent}, useReaders},
		{"GET", []any{fence}, useFencing},
		{"ZRANGEBYSCORE", []any{lease, 0, 1}, useStrict},
		{"ZCARD", []any{queue}, useQueue},
		{"ZRANGE", []any{queue, 0, 0}, useQueue},
		{"PUBLISH", []any{channel, "doctor"}, useQueue},
		{"HMGET", []any{guard.Key, "run", "since"}, useGuard},
		{"TIME", nil, useWatchdogs},
		{"INFO", []any{"server"}, useWatchdogs},
		{"CLIENT", []any{"ID"}, useHygiene},
		{"CLIENT", []any{"KILL", "ID", 0}, useHygiene}, // there is none: refused after the permission
	}
}

// permissions asks for what the master denies to this user, each rule once.
func permissions(ctx context.Context, m *ask.Master, key string) (missing []Permission, user string) {
	if who, err := redis.String(answer(m.Do(ctx, "ACL", "WHOAMI"))); err == nil {
		user = who
	}
	for _, p := range probes(key) {
		err := m.Do(ctx, p.cmd, p.args...).Err
		rule := denied(err, p)
		if rule == "" || slices.ContainsFunc(missing, func(o Permission) bool { return o.Rule == rule }) {
			continue
		}
		missing = append(missing, Permission{rule, p.use, p.use == useLocks})
	}
	return missing, user
}

func answer(a *ask.Answer) (any, error) { return a.Reply, a.Err }

// denied is the rule that would permit what was refused; "": it was not, or not
// for want of permission.
func denied(err error, p probe) string {
	var reply redis.Error
	if !errors.As(err, &reply) || !strings.HasPrefix(string(reply), "NOPERM") {
		return ""
	}
	text := strings.ToLower(string(reply))
	switch {
	case strings.Contains(text, "channel"):
		return "&redquorum:w:1:*"
	case strings.Contains(text, "key"):
		return "~" + pattern(fmt.Sprint(keyOf(p)))
	case p.cmd == "CLIENT":
		return "+client|" + strings.ToLower(fmt.Sprint(p.args[0]))
	default:
		return "+" + strings.ToLower(p.cmd)
	}
}

// keyOf is the key of a probe.
func keyOf(p probe) any {
	if p.cmd == "EVAL" || p.cmd == "EVALSHA" {
		return p.args[2]
	}
	return p.args[0]
}

// pattern is what to permit for a key: all of the library's own kind, or for a
// lock its name, which the reader has to widen.
func pattern(key string) string {
	for _, prefix := range []string{"redquorum:q:1:", "redquorum:intent:1:", "redquorum:fence:1:", "redquorum:lease:1:"} {
		if strings.HasPrefix(key, prefix) {
			return prefix + "*"
		}
	}
	return key
}
