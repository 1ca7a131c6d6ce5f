package release

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/cmd/internal/explain"
	"github.com/redquorum/redquorum/cmd/internal/observe"
	"github.com/redquorum/redquorum/cmd/internal/term"
)

//go:embed tombstone.lua
var tombstoneScript string

// A State is what was found at the key on a master, and done there.
type State string

// States.
const (
	Replaced State = "replaced" // by the operator's token
	Changed  State = "changed"  // another token is there, or something else: it was not touched
	Missing  State = "missing"
	Endless  State = "endless" // the key never expires, so it is no lock: it was not touched
	Failed   State = "failed"  // see Error
)

// A Result is what happened to the key on one master. It is what --json prints.
type Result struct {
	Master string        `json:"master"`
	State  State         `json:"state"`
	Error  string        `json:"error,omitempty"` // with Failed
	Left   time.Duration `json:"-"`               // with Replaced: until the operator's token expires
	err    error         // with Failed
}

func (r *Result) fail(err error) {
	r.State, r.Error, r.err = Failed, term.Clean(explain.Short(err)), err
}

// Tombstones replaces the holder's token by the operator's on all masters that can be reached, at once. ctx bounds
// how long they have to answer.
func Tombstones(ctx context.Context, masters []*observe.Master, key, token, operators string) []Result {
	results := make([]Result, len(masters))
	observe.Each(masters, func(i int, m *observe.Master) {
		r := &results[i]
		r.Master = m.Name()
		if err := m.Connect(ctx); err != nil {
			r.fail(err)
			return
		}
		a := m.Do(ctx, "EVAL", tombstoneScript, 1, key, token, operators)
		numbers, err := redis.Int64s(a.Reply, a.Err)
		if err == nil && len(numbers) != 2 {
			err = errReply
		}
		if err != nil {
			r.fail(err)
			return
		}
		r.State = cmp.Or(states[numbers[0]], Changed)
		r.Left = time.Duration(numbers[1]) * time.Millisecond
	})
	return results
}

var errReply = errors.New("not the reply of the script")

// states are by the number that the script returns. Any other number is Changed.
var states = map[int64]State{1: Replaced, 3: Missing, 4: Endless}
