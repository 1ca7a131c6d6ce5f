package release

import (
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
	Endless  State = "endless" // the key never expires, so it is no lock's: it was not touched
	Failed   State = "failed"  // see Err
)

// A Result is what became of the key on one master. It is what --json prints.
type Result struct {
	Master string        `json:"master"`
	State  State         `json:"state"`
	Error  string        `json:"error,omitempty"` // with Failed
	Left   time.Duration `json:"-"`               // of what was replaced: until the operator's token expires
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
		r.set(numbers[0])
		r.Left = time.Duration(numbers[1]) * time.Millisecond
	})
	return results
}

var errReply = errors.New("not the reply of the script")

// set turns what the script returns into a state.
func (r *Result) set(code int64) {
	switch code {
	case 1:
		r.State = Replaced
	case 3:
		r.State = Missing
	case 4:
		r.State = Endless
	default:
		r.State = Changed
	}
}
