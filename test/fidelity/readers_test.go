package fidelity

import "pgregory.net/rapid"

func init() {
	plausible["readers_queue"] = readersQueueCall
	plausible["reader_handover"] = func(t *rapid.T) call {
		return call{oneKey(t), []any{token(t), ttl(t), pick(t, "client", clients)}}
	}
	plausible["guarded_reader_handover"] = func(t *rapid.T) call {
		lock := oneKey(t)
		return call{append(lock, beginning(leaseOf, lock)...), []any{token(t), ttl(t), pick(t, "client", clients)}}
	}
}

func readersQueueCall(t *rapid.T) call {
	me := pick(t, "client", clients)
	c := call{keys: append(oneKey(t), beside[0], beside[1])}
	switch op := pick(t, "operation", []string{"wait", "wait", "leave", "admit"}); op {
	case "wait":
		var before any = ""
		if likely(t, "has a place", 30) {
			before = score(t, true)
		}
		c.args = []any{op, me, before}
	default:
		c.args = []any{op, me}
	}
	return c
}
