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
	release
)

func (v verb) String() string { return [...]string{"granted:", "over:"}[v] }

// model is a read-write lock: the state is who holds it, sorted and joined, a writer as "w token",
// a reader as "r token". Holds of one token do not exclude each other.
var model = porcupine.Model{
	Init: func() any { return "" },
	Step: func(state, input, _ any) (bool, any) {
		e := input.(event)
		holders := strings.FieldsFunc(state.(string), func(r rune) bool { return r == ',' })
		mode := "w "
		if e.hold.Shared {
			mode = "r "
		}
		if e.verb == release {
			i := slices.Index(holders, mode+e.owner)
			if i < 0 {
				return false, state
			}
			return true, strings.Join(slices.Delete(holders, i, i+1), ",")
		}
		for _, h := range holders {
			if h[2:] != e.owner && (mode == "w " || h[:2] == "w ") {
				return false, state
			}
		}
		holders = append(holders, mode+e.owner)
		slices.Sort(holders)
		return true, strings.Join(holders, ",")
	},
	DescribeOperation: func(input, _ any) string {
		e, ok := input.(event)
		if !ok {
			return "" // the picture asks about operations that do not exist
		}
		return fmt.Sprintf("%v %v", e.verb, e.hold)
	},
	DescribeState: func(state any) string {
		if state.(string) == "" {
			return "free"
		}
		return state.(string)
	},
}

// window is how many holds of a key are checked at a time, at least. A part ends where the lock
// was certainly free: nothing after that depends on what was before.
const window = 200

// Linearizable checks, for each key, that its operations have an order in which each lock finds
// the key free. A lock takes effect between its call and its return. Its end takes effect between
// the instant at which the holder stops believing in it and the confirmation of its release. If
// the release was not confirmed, or the lock merely expired, its end may be at any later time. If
// there is no such order, porcupine's picture is written to a file that the violation names.
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
			v := Violation{Kind: Linear, Text: text, At: part[0].Asked}
			if f, err := os.CreateTemp("", "redquorum-history-*.html"); err == nil {
				err = porcupine.Visualize(model, info, f)
				_ = f.Close()
				if err == nil {
					v.File = f.Name()
				}
			}
			found = append(found, v)
		}
	}
	return found
}

// split cuts a key's history where nobody held the lock or waited for it.
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
		if hold.End() <= hold.Granted {
			continue // it was over when it was granted, and excludes nobody
		}
		ops = append(ops, porcupine.Operation{
			ClientId: id, Input: event{acquire, hold.Token, hold}, Call: int64(hold.Asked), Return: int64(hold.Granted),
		})
		ends, done := int64(hold.End()), int64(math.MaxInt64)
		if hold.Released != 0 && int64(hold.Released) >= ends {
			done = int64(hold.Released)
		}
		ops = append(ops, porcupine.Operation{
			ClientId: id, Input: event{release, hold.Token, hold}, Call: ends, Return: done,
		})
	}
	return ops
}
