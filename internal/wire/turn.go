package wire

import (
	"strconv"

	"github.com/redquorum/redquorum/internal/quorum"
)

// A Turn is a pilot's answer to a client that waits.
type Turn struct {
	Ours  bool         // the lock is free, and it is our turn
	First bool         // nobody is before us
	Score string       // our place; "": none
	Held  *quorum.Held // not nil once it was read; see Wire.TakeAt
}

// readTurn reads the reply of queue.lua to "wait", and to a "take" that was refused.
func readTurn(reply any, err error) (Turn, error) {
	if err != nil {
		return Turn{}, err
	}
	if parts, ok := reply.([]any); ok && len(parts) == 6 {
		ours, ok1 := parts[0].(int64)
		score, ok2 := parts[1].([]byte)
		first, ok3 := parts[2].(int64)
		held, ok4 := readHolder(parts[3:])
		if ok1 && ok2 && ok3 && ok4 && isScore(string(score)) {
			return Turn{Ours: ours == 1, First: first == 1, Score: string(score), Held: held}, nil
		}
	}
	return Turn{}, unexpected(reply)
}

func isScore(s string) bool {
	_, err := strconv.ParseInt(s, 10, 64)
	return s == "" || err == nil
}
