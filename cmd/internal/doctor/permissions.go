package doctor

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/cmd/internal/observe"
	"github.com/redquorum/redquorum/internal/acl"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/waitqueue"
)

// A Permission is one that a master denies.
type Permission struct {
	Rule string // of an ACL, that grants it: +set, ~key, &channel
	For  string // what does not work without it
	// Vital: without it nothing can be locked.
	Vital bool
	// Gone: whoever asks, the server has no such command, which is Rule.
	Gone bool
}

// A probe is a command that tells by being refused. None writes anything.
type probe struct {
	cmd  string
	args []any
	rule string // of an ACL, that permits it
	use  acl.Use
}

// asked is how each command is asked for: with arguments for which it does nothing,
// XX and the like, on a key that is not there, or those that it refuses after the
// permission was looked at.
var asked = map[string]func(key string) []any{
	"client|id":        fixed("ID"),
	"client|kill":      fixed("KILL", "ID", 0), // there is none
	"client|setname":   fixed("SETNAME", "no name"),
	"del":              onKey(),
	"eval":             func(key string) []any { return []any{"return 1", 1, key} },
	"evalsha":          func(key string) []any { return []any{strings.Repeat("0", 40), 1, key} },
	"exists":           onKey(),
	"get":              onKey(),
	"getrange":         onKey(0, 0),
	"hmget":            onKey("run"),
	"hset":             onKey("field", "value", "no value"),
	"mget":             onKey(),
	"persist":          onKey(),
	"pexpire":          onKey(1),
	"pexpireat":        onKey(1),
	"ping":             fixed(),
	"pttl":             onKey(),
	"publish":          fixed(waitqueue.ChannelPrefix+"doctor", "doctor"),
	"script|exists":    fixed("EXISTS", "no script"),
	"script|load":      fixed("LOAD", "no script"),
	"set":              onKey("doctor", "XX", "PX", 1),
	"subscribe":        fixed(), // which tells no more than that it is there
	"time":             fixed(),
	"type":             onKey(),
	"zadd":             onKey("XX", 1, "doctor"),
	"zcount":           onKey(0, 1),
	"zrange":           onKey(0, 0),
	"zrangebyscore":    onKey(0, 1),
	"zrem":             onKey("doctor"),
	"zremrangebyscore": onKey(0, 1),
	"zrevrange":        onKey(0, 0),
	"zrevrangebyscore": onKey(1, 0),
	"zscore":           onKey("doctor"),
}

// fixed is arguments that are not about the key.
func fixed(args ...any) func(string) []any { return func(string) []any { return args } }

// onKey is the key and further arguments.
func onKey(args ...any) func(string) []any {
	return func(key string) []any { return append([]any{key}, args...) }
}

// looked is a command that looks at a key of the library's own, by its pattern.
var looked = map[string]string{
	"redquorum:intent:1:*": "zcount",
	"redquorum:fence:1:*":  "get",
	"redquorum:lease:1:*":  "exists",
	"redquorum:q:1:*":      "zrange",
	guard.Key:              "hmget",
	guard.Sighting:         "hmget",
	guard.ListKey:          "exists",
}

// probes are the commands that the library uses, on a key that is not there. First come
// those of the most important uses, then one for each sort of the library's own keys.
// PUBLISH asks for the channels.
func probes(key string) (all []probe) {
	for _, use := range acl.Uses() {
		for _, command := range use.Commands {
			ask := asked[command]
			if ask == nil || slices.ContainsFunc(all, func(p probe) bool { return p.rule == "+"+command }) {
				continue
			}
			all = append(all, newProbe(command, ask(key), use))
		}
	}
	for _, use := range acl.Uses() {
		for _, own := range use.Keys {
			command := looked[own]
			all = append(all, newProbe(command, asked[command](strings.Replace(own, "*", key, 1)), use))
		}
	}
	return all
}

func newProbe(command string, args []any, use acl.Use) probe {
	cmd, _, _ := strings.Cut(command, "|")
	return probe{strings.ToUpper(cmd), args, "+" + command, use}
}

// permissions asks for what the master denies to this user, each rule once.
func permissions(ctx context.Context, m *observe.Master, key string) (missing []Permission, user string) {
	if who, err := redis.String(answered(m.Do(ctx, "ACL", "WHOAMI"))); err == nil {
		user = who
	}
	for _, p := range probes(key) {
		err := m.Do(ctx, p.cmd, p.args...).Err
		rule, gone := denied(err, p, key), isGone(err)
		if gone {
			rule = p.cmd
		}
		if rule == "~"+guard.ProbeKey { // no lock was named, so nothing is known of its key
			continue
		}
		if rule == "" || slices.ContainsFunc(missing, func(o Permission) bool { return o.Rule == rule }) {
			continue
		}
		missing = append(missing, Permission{rule, p.use.Name, p.use.Vital, gone})
	}
	return missing, user
}

// isGone reports whether a server does not know a command: it was renamed, or the service does not offer it.
func isGone(err error) bool {
	reply, ok := errors.AsType[redis.Error](err)
	return ok && strings.HasPrefix(strings.ToLower(string(reply)), "err unknown command")
}

// denied is the rule that would permit what was refused, of a probe on this lock; "":
// it was not, or not for want of permission.
func denied(err error, p probe, lock string) string {
	var reply redis.Error
	if !errors.As(err, &reply) || !strings.HasPrefix(string(reply), "NOPERM") {
		return ""
	}
	text := strings.ToLower(string(reply))
	switch {
	case strings.Contains(text, "channel"):
		return "&" + waitqueue.ChannelPrefix + "*"
	case strings.Contains(text, "key"):
		return "~" + pattern(p, lock)
	default:
		return p.rule
	}
}

// pattern is what to permit for the key of a probe: all of the library's own sort,
// or for a lock its name, which the reader has to widen.
func pattern(p probe, lock string) string {
	for _, own := range p.use.Keys {
		if slices.Contains(p.args, any(strings.Replace(own, "*", lock, 1))) {
			return own
		}
	}
	return lock
}
