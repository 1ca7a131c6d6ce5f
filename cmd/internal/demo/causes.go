package demo

import (
	"errors"
	"slices"

	"github.com/redquorum/redquorum/cmd/internal/explain"
	"github.com/redquorum/redquorum/redlock"
)

// causes returns what each master contributed to a refusal. A master that err does not name agreed.
func causes(err *redlock.QuorumError, masters []Master) []Master {
	list := make([]Master, len(masters))
	for i, m := range masters {
		list[i] = Master{Address: m.Address, State: stateAgreed}
	}
	for node := range err.NodeErrors() {
		if i := slices.IndexFunc(list, func(m Master) bool { return m.Address == node.Master }); i >= 0 {
			list[i].State, list[i].Cause = stateFailed, brief(explain.Short(node.Err))
			if errors.Is(node.Err, redlock.ErrNotAwaited) {
				list[i].State, list[i].Cause = stateMoot, "up, but could not change that"
			}
		}
	}
	return list
}

// explained counts the masters that do not vote and whose cause is given.
func explained(causes, masters []Master) int {
	n := 0
	for i, m := range masters {
		if m.State != seenUp && causes[i].State == stateFailed && causes[i].Cause != "" {
			n++
		}
	}
	return n
}
