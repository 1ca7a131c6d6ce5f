package fidelity

import (
	"slices"

	"pgregory.net/rapid"
)

// This file has the scripts that do for several locks what others do for one, and the script
// that raises tokens that readers have met.

const queueOf = "redquorum:q:1:"

func init() {
	plausible["releasebatch"] = func(t *rapid.T) call {
		locks := released(t)
		return call{append(locks, queuesOf(t, locks)...), tokensOf(t, locks)}
	}
	plausible["releaseleases"] = func(t *rapid.T) call {
		locks := released(t)
		return call{slices.Concat(locks, queuesOf(t, locks), beginning(leaseOf, locks)), tokensOf(t, locks)}
	}
	plausible["acquirebatch"] = acquireBatchCall
	plausible["raise_known"] = func(t *rapid.T) call {
		return call{beginning(fenceOf, severalKeys(t)), []any{fence(t), "86400000"}}
	}
}

// countKeys are the scripts that derive the number of their keys from their arguments.
var countKeys = []string{"releasebatch", "releaseleases", "acquirebatch"}

// acquireBatchCall joins calls of guarded_acquire.lua for one lock each. Those with a fencing
// token come first.
func acquireBatchCall(t *rapid.T) call {
	var fences, leases, args []any
	fenced, mode := true, fencing
	if likely(t, "strict", 50) {
		mode |= strict
	}
	locks := released(t)
	for _, lock := range locks {
		fenced = fenced && !likely(t, "no more fences", 20)
		one := guardedMode(t, mode, []any{lock}, nil, "")
		if fenced {
			fences = append(fences, one.keys[1])
		} else {
			one.args[3] = ""
		}
		if mode&strict != 0 {
			leases = append(leases, one.keys[2])
		}
		args = append(args, one.args[:6]...)
	}
	return call{slices.Concat(locks, fences, leases), append(args, "86400000")}
}

// queuesOf returns the queues of the first locks, whose pilot is this master.
func queuesOf(t *rapid.T, locks []any) []any {
	return beginning(queueOf, locks[:rapid.IntRange(0, len(locks)).Draw(t, "queues")])
}

// released draws locks, perhaps one of them twice: a flush may have two releases of one key,
// with tokens of two attempts.
func released(t *rapid.T) []any {
	locks := severalKeys(t)
	if likely(t, "one of them twice", 20) {
		locks = append(locks, rapid.SampledFrom(locks).Draw(t, "which twice"))
	}
	return locks
}

// tokensOf draws a token for each lock, and then the client.
func tokensOf(t *rapid.T, locks []any) []any {
	all := make([]any, 0, len(locks)+1)
	for range locks {
		all = append(all, token(t))
	}
	return append(all, pick(t, "client", clients))
}
