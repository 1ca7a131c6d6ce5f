package fidelity

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/script"
)

// scripts returns all scripts that the library runs on a master.
func scripts() []*script.Script { return slices.Concat(script.All, guard.Scripts) }

// A call is what a script gets: keys and arguments.
type call struct{ keys, args []any }

// oneKey draws the key that a script is about: mostly the lock, never the queue.
func oneKey(t *rapid.T) []any {
	if likely(t, "the lock", 80) {
		return []any{"lock"}
	}
	return []any{pick(t, "key", slices.Concat(locks, beside[1:]))}
}

func severalKeys(t *rapid.T) []any {
	return words(rapid.SliceOfNDistinct(rapid.SampledFrom(locks), 1, len(locks), rapid.ID).Draw(t, "keys"))
}

func words(from []string) []any {
	all := make([]any, len(from))
	for i := range from {
		all[i] = from[i]
	}
	return all
}

func token(t *rapid.T) any { return pick(t, "token", tokens) }

func again(t *rapid.T) any { return pick(t, "again", []string{"1", "0", ""}) }

// plausible makes calls as the library does. A script without an entry gets anything.
var plausible = map[string]func(t *rapid.T) call{
	"release": func(t *rapid.T) call { return call{oneKey(t), []any{token(t)}} },
	"extend":  func(t *rapid.T) call { return call{oneKey(t), []any{token(t), ttl(t), again(t)}} },
	"verify":  func(t *rapid.T) call { return call{oneKey(t), []any{token(t)}} },
	"holder":  func(t *rapid.T) call { return call{oneKey(t), nil} },
	"inspect": func(t *rapid.T) call {
		return call{oneKey(t), []any{pick(t, "most", []string{"9", "1", "0"})}}
	},
	"acquireall": func(t *rapid.T) call { return call{severalKeys(t), []any{token(t), ttl(t)}} },
	"extendall":  func(t *rapid.T) call { return call{severalKeys(t), []any{token(t), ttl(t), again(t)}} },
	"verifyall":  func(t *rapid.T) call { return call{severalKeys(t), []any{token(t)}} },
	"releaseall": func(t *rapid.T) call { return call{severalKeys(t), []any{token(t)}} },
	"releaseset": func(t *rapid.T) call {
		return call{severalKeys(t), []any{token(t), pick(t, "client", clients)}}
	},
	"holderamong": func(t *rapid.T) call { return call{severalKeys(t), nil} },
	"reader_acquire": func(t *rapid.T) call {
		return call{append(oneKey(t), beside[1]), []any{token(t), ttl(t), ttl(t), pick(t, "called", []string{"", "0", "1"})}}
	},
	"reader_extend": func(t *rapid.T) call {
		return call{oneKey(t), []any{token(t), ttl(t), again(t), ttl(t)}}
	},
	"reader_verify":  func(t *rapid.T) call { return call{oneKey(t), []any{token(t)}} },
	"reader_release": func(t *rapid.T) call { return call{oneKey(t), []any{token(t), ttl(t)}} },
	"writer_intent":  func(t *rapid.T) call { return call{[]any{beside[1]}, []any{token(t), ttl(t)}} },
	"queue":          queueCall,
	"dial": func(t *rapid.T) call {
		return markerCall(t, pick(t, "looks", []string{"", "", "look"}), pick(t, "old", []string{"", "0", "1000"}))
	},
	"declare": func(t *rapid.T) call { return markerCall(t, asRead(t)...) },
	"list": func(t *rapid.T) call {
		return call{[]any{"redquorum:list"}, []any{pick(t, "digest", []string{"a", "b"}), pick(t, "looks", []string{"0", "0", "1"})}}
	},
	"adopt": func(t *rapid.T) call {
		return markerCall(t, pick(t, "settling", []string{"1000", "0"}), pick(t, "where it is known", []string{"1000", "0", "60000"}), pick(t, "longest", longestBefore), pick(t, "by", []string{"", "o"}))
	},
	"init": func(t *rapid.T) call {
		further := []any{pick(t, "forced", []string{"0", "1"}), pick(t, "quarantine", []string{"60702", "1000"})}
		return markerCall(t, append(append(further, asRead(t)...), pick(t, "longest", []string{"60000", "120000"}))...)
	},
}

// longestBefore is the greatest MaxTTL before, or none.
var longestBefore = []string{"", "120000"}

func queueCall(t *rapid.T) call {
	me := pick(t, "client", clients)
	before := func() any {
		if likely(t, "has a place", 30) {
			return score(t, true)
		}
		return ""
	}
	c := call{keys: append(oneKey(t), beside[0])}
	switch op := pick(t, "operation", []string{"release", "wait", "wait", "take", "leave", "look"}); op {
	case "release":
		c.args = []any{op, me, token(t)}
	case "take":
		at := before()
		if likely(t, "does not wait", 25) {
			at = "-"
		}
		c.args = []any{op, me, at, token(t), ttl(t), pick(t, "yields", []string{"", "1"})}
	case "wait":
		c.args = []any{op, me, before()}
	default:
		c.args = []any{op, me}
	}
	return c
}

// markerCall makes a call of a script about the marker. further are the arguments that only
// this script takes.
func markerCall(t *rapid.T, further ...any) call {
	stamp := time.Duration(rapid.SampledFrom([]int{0, 0, -1, -499, -501, 501, 3600_000}).Draw(t, "sent")) * time.Millisecond
	args := []any{
		pick(t, "version", []string{"3", "3", "3", "1", "2"}), pick(t, "run", []string{"run-1", "run-2"}),
		pick(t, "MaxTTL", []string{"60000", "60000", "30000"}), "5", pick(t, "level", []string{"standard", "strict"}),
		pick(t, "database", []string{"0", "0", "0", "1"}), instant{stamp, time.Microsecond, false}, "500000", "250000",
		pick(t, "known", []string{"0", "0", "1"}),
	}
	return call{[]any{guard.Key}, append(args, further...)}
}

// asRead draws what a client may have read of a sighting or a marker: replid, since and wall.
func asRead(t *rapid.T) []any {
	return []any{pick(t, "history", []string{"", "replid"}), pick(t, "since", []string{"0", "1000"}), pick(t, "wall", []string{"0", "1000"})}
}

// anything draws a call of a script that nothing is known about.
func anything(t *rapid.T) call {
	pool := slices.Concat(tokens, ttls, hostile)
	return call{
		keys: words(rapid.SliceOfN(rapid.SampledFrom(slices.Concat(locks, beside)), 1, 3).Draw(t, "keys")),
		args: words(rapid.SliceOfN(rapid.SampledFrom(pool), 1, 8).Draw(t, "arguments")),
	}
}

// modes says whether the arguments for fencing and for strict are empty. They tell a script
// which other keys it gets beside the locks.
func modes(name string, args []any) string {
	var which []int
	switch {
	case name == "acquirebatch":
		which = []int{4}
	case strings.HasPrefix(name, "guarded_") && plausible[name] != nil && !strings.Contains(name, "release"):
		which = []int{len(args) - 4, len(args) - 3}
	}
	said := ""
	for _, i := range which {
		said += fmt.Sprint(i >= 0 && i < len(args) && args[i] != any("")) + " "
	}
	return said
}

func scriptCommand(t *rapid.T) (command []any, name string) {
	s := rapid.SampledFrom(scripts()).Draw(t, "script")
	if likely(t, "the queue", 15) { // it does more than any other
		s = script.Queue
	}
	return commandOf(t, s), s.Name
}

func commandOf(t *rapid.T, s *script.Script) (command []any) {
	c := anything(t)
	if known := plausible[s.Name]; known != nil {
		unknown := c.args
		c = known(t)
		good := c.args
		switch {
		case slices.Contains(countKeys, s.Name):
			if likely(t, "spoilt", 15) {
				c.args = changed(t, c.args)
			}
		case likely(t, "anything", 3):
			c.args = unknown
		default:
			c.args = spoilt(t, c.args)
		}
		if modes(s.Name, c.args) != modes(s.Name, good) {
			c.args = good // the script would use keys that are not there
		}
		if likely(t, "keys spoilt", 3) {
			// The number of keys stays: masters treat a missing key differently, and no client
			// leaves one out.
			c.keys[rapid.IntRange(0, len(c.keys)-1).Draw(t, "which key")] = pick(t, "key instead", hostile)
		}
	}
	command = []any{"EVALSHA", s.SHA, len(c.keys)}
	if likely(t, "in full", 5) {
		command[0], command[1] = "EVAL", s.Source
	}
	return append(append(command, c.keys...), c.args...)
}
