package history

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// An event of a key's history, as porcupine sees it.
type event struct {
	verb  verb
	owner string // the token
	hold  *Hold
}

type verb uint8

const (
	acquire verb = iota
	acquireShared
	release
)

func (v verb) String() string { return [...]string{"lock", "rlock", "end of"}[v] }

// model is a read-write lock: the state is its writer's token, or its readers'
// tokens, sorted and joined.
var model = porcupine.Model{
	Init: func() any { return "" },
	Step: func(state, input, _ any) (bool, any) {
		s, e := state.(string), input.(event)
		switch e.verb {
		case acquire:
			return s == "", "w " + e.owner
		case acquireShared:
			if strings.HasPrefix(s, "w ") {
				return false, s
			}
			readers := append(strings.Fields(s), e.owner)
			slices.Sort(readers)
			return true, strings.Join(readers, " ")
		default:
			if s == "w "+e.owner {
				return true, ""
			}
			readers := strings.Fields(s)
			i := slices.Index(readers, e.owner)
			if i < 0 {
				return false, s
			}
			return true, strings.Join(slices.Delete(readers, i, i+1), " ")
		}
	},
	DescribeOperation: func(input, _ any) string {
		e := input.(event)
		return fmt.Sprintf("%v %v", e.verb, e.hold)
	},
	DescribeState: func(state any) string {
		if state.(string) == "" {
			return "free"
		}
		return state.(string)
	},
}

// window is how many holds of a key are checked at a time: where the lock was
// certainly free the rest does not depend on what was before.
const window = 200

// Linearizable checks, for each key, that there is an order of all that was done
// to it, in which each lock finds it free: a lock takes place between its call and
// its return, its end between the instant at which the holder stops to believe
// in it and the confirmation of its release, or at any time later where it was
// not confirmed or merely expired. Where there is no such order, porcupine's
// picture of it is written to a file that the violation names.
func (h History) Linearizable(timeout time.Duration) (found []Violation) {
	keys, holds := h.byKey()
	for _, key := range keys {
		for _, part := range split(holds[key]) {
			ops := part.operations()
			result, info := porcupine.CheckOperationsVerbose(model, ops, timeout)
			if result != porcupine.Illegal {
				continue
			}
			text := fmt.Sprintf("%q: %d holds from %v on", key, len(part), part[0].Asked)
			if f, err := os.CreateTemp("", "redquorum-history-*.html"); err == nil {
				err = porcupine.Visualize(model, info, f)
				_ = f.Close()
				if err == nil {
					text += "; see " + f.Name()
				}
			}
			found = append(found, Violation{Linear, text, part[0].Asked})
		}
	}
	return found
}

// split cuts a key's history where nobody held the lock or asked for it.
func split(holds History) (parts []History) {
	byCall := slices.Clone(holds)
	slices.SortStableFunc(byCall, func(a, b *Hold) int { return int(a.Asked - b.Asked) })
	var part History
	var busy time.Duration
	for _, hold := range byCall {
		if len(part) >= window && hold.Asked > busy {
			parts = append(parts, part)
			part = nil
		}
		part = append(part, hold)
		busy = max(busy, hold.Granted, hold.End(), hold.Released)
	}
	if len(part) > 0 {
		parts = append(parts, part)
	}
	return parts
}

func (h History) operations() (ops []porcupine.Operation) {
	clients := make(map[string]int)
	for _, hold := range h {
		id, ok := clients[hold.Client]
		if !ok {
			id = len(clients)
			clients[hold.Client] = id
		}
		verb := acquire
		if hold.Shared {
			verb = acquireShared
		}
		ops = append(ops, porcupine.Operation{
			ClientId: id, Input: event{verb, hold.Token, hold}, Call: int64(hold.Asked), Return: int64(hold.Granted),
		})
		ends, done := int64(hold.End()), int64(math.MaxInt64)
		if hold.Released != 0 && int64(hold.Released) >= ends {
			done = int64(hold.Released)
		}
		// A hold that was over when it was granted excludes nobody.
		ends = max(ends, int64(hold.Granted)+1)
		ops = append(ops, porcupine.Operation{
			ClientId: id, Input: event{release, hold.Token, hold}, Call: ends, Return: max(done, ends),
		})
	}
	return ops
}
