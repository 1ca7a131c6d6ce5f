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

// A Permission is a permission that a master denies.
type Permission struct {
	Rule string // of an ACL, that grants it: +set, ~key, &channel
	For  string // what does not work without it
	// Vital: without it nothing can be locked.
	Vital bool
	// Gone: the server has no such command for any user; Rule is its name.
	Gone bool
}

// A probe is a command whose refusal shows that a permission is missing. No probe writes anything.
type probe struct {
	cmd  string
	args []any
	rule string // of an ACL, that permits it
	use  acl.Use
}

// asked holds the arguments with which each command is probed. With them the command does
// nothing, for example because of XX on a missing key, or it fails after the server has
// checked the permission.
var asked = map[string]func(key string) []any{
	"client|id":        fixed("ID"),
	"client|kill":      fixed("KILL", "ID", 0), // there is no client 0
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
	"subscribe":        fixed(), // shows only whether the command is there
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

// fixed returns arguments without the key.
func fixed(args ...any) func(string) []any { return func(string) []any { return args } }

// onKey returns the key and further arguments.
func onKey(args ...any) func(string) []any {
	return func(key string) []any { return append([]any{key}, args...) }
}

// looked maps the pattern of each of the library's own keys to a command that reads the key.
var looked = map[string]string{
	"redquorum:intent:1:*": "zcount",
	"redquorum:fence:1:*":  "get",
	"redquorum:lease:1:*":  "exists",
	"redquorum:q:1:*":      "zrange",
	guard.Key:              "hmget",
	guard.Sighting:         "hmget",
	guard.ListKey:          "exists",
}

// probes returns the commands that the library uses, on a missing key. Those of the most
// important uses come first, then one for each pattern of the library's own keys. PUBLISH
// probes the channels.
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

// permissions returns what the master denies to this user, each rule once.
func permissions(ctx context.Context, m *observe.Master, key string) (missing []Permission, user string) {
	if name, err := redis.String(answered(m.Do(ctx, "ACL", "WHOAMI"))); err == nil {
		user = name
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

// denied returns the rule that would permit a refused probe on this lock; "": the probe was
// not refused, or not for a missing permission.
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

// pattern returns what to permit for the key of a probe: the pattern of the library's own
// keys, or the name of the lock, which the reader has to widen.
func pattern(p probe, lock string) string {
	for _, own := range p.use.Keys {
		if slices.Contains(p.args, any(strings.Replace(own, "*", lock, 1))) {
			return own
		}
	}
	return lock
}
