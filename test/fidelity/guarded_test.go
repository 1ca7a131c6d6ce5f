package fidelity

import (
	"slices"
	"strconv"
	"time"

	"pgregory.net/rapid"
)

// This file has the scripts of locks with a fencing token, and of the strict guard.

const (
	fenceOf = "redquorum:f:1:"
	leaseOf = "redquorum:l:1:"
)

func init() {
	for name, own := range map[string]func(t *rapid.T) any{
		"guarded_acquire": unused,
		"guarded_extend":  again, "guarded_extendall": again,
	} {
		plausible[name] = func(t *rapid.T) call { return guardedCall(t, guardedLocks(t, name), nil, own(t)) }
	}
	plausible["guarded_reader_acquire"] = func(t *rapid.T) call {
		return behindTTL(t, guardedCall(t, []any{"lock"}, []any{beside[1]}, ""))
	}
	plausible["guarded_reader_extend"] = func(t *rapid.T) call { return behindTTL(t, guardedCall(t, []any{"lock"}, nil, again(t))) }
	plausible["guarded_reader_release"] = func(t *rapid.T) call {
		return call{append([]any{"lock"}, beginning(leaseOf, []any{"lock"})...), []any{token(t), ttl(t)}}
	}
	plausible["guarded_adopt"] = func(t *rapid.T) call { return guardedCall(t, []any{"lock"}, nil, token(t)) }
	for _, name := range []string{"guarded_release", "guarded_releaseall"} {
		plausible[name] = func(t *rapid.T) call {
			locks := guardedLocks(t, name)
			return call{append(locks, beginning(leaseOf, locks)...), []any{token(t)}}
		}
	}
	plausible["guarded_releaseset"] = func(t *rapid.T) call {
		locks := severalKeys(t)
		return call{append(locks, beginning(leaseOf, locks)...), []any{token(t), pick(t, "client", clients)}}
	}
	plausible["guarded_queue"] = func(t *rapid.T) call {
		q := queueCall(t)
		if q.args[0] != "take" {
			return q
		}
		c := guardedCall(t, []any{"lock"}, []any{beside[0]}, q.args[5])
		c.args = append(slices.Clone(q.args[:3]), c.args...)
		return c
	}
	plausible["raise"] = func(t *rapid.T) call {
		locks := guardedLocks(t, "raise")
		return call{append(locks, beginning(fenceOf, locks)...), []any{token(t), fence(t), fence(t), "86400000"}}
	}
}

// behindTTL puts the longest TTL of all readers before the other arguments.
func behindTTL(t *rapid.T, c call) call {
	c.args = append([]any{ttl(t)}, c.args...)
	return c
}

func unused(*rapid.T) any { return "" }

// guardedLocks draws one lock, and for some scripts several.
func guardedLocks(t *rapid.T, name string) []any {
	if slices.Contains([]string{"guarded_extend", "guarded_release"}, name) {
		return []any{"lock"}
	}
	return severalKeys(t)
}

func beginning(prefix string, names []any) []any {
	all := make([]any, len(names))
	for i, name := range names {
		all[i] = prefix + "{" + name.(string) + "}"
	}
	return all
}

// fence draws a fencing token, up to the greatest.
func fence(t *rapid.T) any {
	return strconv.FormatInt(rapid.SampledFrom([]int64{1, 2, 1_782_907_200_123_456, 1<<53 - 3, 1<<53 - 2, 1<<53 - 1}).Draw(t, "fence"), 10)
}

// A guarded script does one of these or both.
const (
	fencing = 1
	strict  = 2
)

// guardedCall has the seven arguments of guarded.lua, and the keys that go with them: locks,
// the keys behind, then fences and leases.
func guardedCall(t *rapid.T, locks, behind []any, own any) call {
	return guardedMode(t, rapid.IntRange(fencing, fencing|strict).Draw(t, "fencing or strict or both"), locks, behind, own)
}

func guardedMode(t *rapid.T, mode int, locks, behind []any, own any) call {
	keys := append(slices.Clone(locks), behind...)
	args := []any{token(t), pick(t, "TTL", ttls), own, "", "", "", "86400000"}
	if mode&fencing != 0 {
		keys = append(keys, beginning(fenceOf, locks)...)
		args[3] = fence(t)
	}
	if mode&strict != 0 {
		keys = append(keys, beginning(leaseOf, locks)...)
		stamp := time.Duration(rapid.SampledFrom([]int{0, 0, 0, -1, -749, -751, 501}).Draw(t, "sent")) * time.Millisecond
		const skew, wait = 500 * time.Millisecond, 250 * time.Millisecond
		args[4], args[5] = instant{stamp - skew, time.Microsecond, false}, instant{stamp + wait + skew, time.Microsecond, false}
	}
	return call{keys, args}
}
