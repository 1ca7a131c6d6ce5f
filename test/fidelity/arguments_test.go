package fidelity

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"pgregory.net/rapid"

	"github.com/redquorum/redquorum/internal/redistest"
)

// wakeUps is the prefix of the channel on which a waiter is woken.
const wakeUps = "redquorum:w:1:"

var (
	// listening are the clients that subscribe; the third one has gone.
	listening = []string{"client-1", "client-2"}
	clients   = []string{"client-1", "client-2", "client-3"}

	locks  = []string{"lock", "a", "b{1}", "c c"}
	beside = []string{"redquorum:q:1:{lock}", "redquorum:rw:1:{lock}", "redquorum:marker", "redquorum:f:1:{lock}", "redquorum:l:1:{lock}", "redquorum:sighted", "redquorum:q:1:{lock}:readers", "redquorum:intent:1:lock"}
	tokens = []string{"token-1", "token-2", "token-3", "", "t\x00\r\n\xff", strings.Repeat("long", 70)}

	// ttls in milliseconds, as scripts and commands get them.
	ttls = []string{"1", "1000", "1500", "10000", "60000", "3600000"}

	// overflowing is a number that Redis reads, and cannot add to its time.
	overflowing = "9223372036854775807"
	extremeTTLs = []string{"9223372036854775808", "99999999999999999999", "-9223372036854775808"}

	// hostile arguments replace any argument. They leave out what Lua's tonumber accepts in
	// Redis and not in the simulation: inf, nan, 0x10, 1e3, and numbers above 2^63.
	hostile = []string{
		"", " ", "0", "-1", "-1500", "abc", "1.5", "+500", " 500", "500 ",
		"nil", "\x00", "'", "%d", "release", "1", "2",
	}
)

// hugeTTLs has overflowing only if the real master refuses it, as the simulated one does. What
// other servers do with it does not matter: the library sends no such TTL.
var hugeTTLs = sync.OnceValue(func() []string {
	if redistest.Missing(redistest.BoundedTTL) != nil {
		return extremeTTLs // see TestATTLThatOverflowsIsRefused
	}
	return append([]string{overflowing}, extremeTTLs...)
})

func pick(t *rapid.T, label string, from []string) any {
	return rapid.SampledFrom(from).Draw(t, label)
}

// likely is true in n of 100 cases. Shrinking makes it false.
func likely(t *rapid.T, label string, n int) bool {
	return rapid.IntRange(0, 99).Draw(t, label) >= 100-n
}

// ttl draws a TTL, nearly always a good one.
func ttl(t *rapid.T) any {
	if likely(t, "bad TTL", 8) {
		return pick(t, "TTL", slices.Concat(hugeTTLs(), hostile))
	}
	return pick(t, "TTL", ttls)
}

// An instant is a word that depends on the masters' clock when it is sent.
type instant struct {
	away  time.Duration // from now
	unit  time.Duration // the unit in which it counts, since 1970
	minus bool
}

func (i instant) at(now time.Time) string {
	n := now.Add(i.away).UnixMicro() * int64(time.Microsecond) / int64(i.unit)
	if i.minus {
		n = -n
	}
	return strconv.FormatInt(n, 10)
}

// sent returns a command as it is sent now: each instant becomes a number.
func sent(command []any, now time.Time) []any {
	words := make([]any, len(command))
	for i, word := range command {
		if at, ok := word.(instant); ok {
			word = at.at(now)
		}
		words[i] = word
	}
	return words
}

var away = []int{0, 1, -1, 999, 1000, 1001, -1000, 10_000, 60_000, -70_000} // ms

// score draws an instant near now, or a small number. Microseconds are for the queue: read as
// milliseconds they are an expiry that the simulation cannot keep.
func score(t *rapid.T, queue bool) any {
	near := time.Duration(rapid.SampledFrom(away).Draw(t, "away")) * time.Millisecond
	switch kind := rapid.IntRange(0, 4).Draw(t, "score"); {
	case kind < 2 || kind < 4 && !queue:
		return instant{near, time.Millisecond, false}
	case kind == 2:
		return instant{near, time.Microsecond, false}
	case kind == 3:
		return instant{near, time.Microsecond, true}
	default:
		return pick(t, "score", []string{"0", "-1", "1", "2.5", "-0.5"})
	}
}

// spoilt returns args as they are, or with a mistake.
func spoilt(t *rapid.T, args []any) []any {
	switch {
	case !likely(t, "spoilt", 15):
		return args
	case len(args) == 0 || likely(t, "one more", 20):
		return append(args, pick(t, "more", hostile))
	case len(args) > 1 && likely(t, "one less", 30):
		if at, ok := args[len(args)-2].(instant); ok && at.unit == time.Microsecond {
			return args[1:] // or it would come last, where guarded.lua has an expiry (see score)
		}
		return args[:len(args)-1]
	default:
		return changed(t, args)
	}
}

// changed returns args with one of them replaced.
func changed(t *rapid.T, args []any) []any {
	all := slices.Clone(args)
	all[rapid.IntRange(0, len(args)-1).Draw(t, "which")] = pick(t, "instead", hostile)
	return all
}
