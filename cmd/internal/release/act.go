package release

import (
	"context"
	_ "embed"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/rs/xid"

	"github.com/redquorum/redquorum/cmd/internal/observe"
	"github.com/redquorum/redquorum/cmd/internal/say"
	"github.com/redquorum/redquorum/cmd/internal/term"
	"github.com/redquorum/redquorum/internal/script"
)

//go:embed tombstone.lua
var tombstoneScript string

// A State is what was found at the key on a master, and done there.
type State string

// States.
const (
	Replaced State = "replaced" // by the operator's token
	Deleted  State = "deleted"
	Changed  State = "changed" // another token is there, or something else: it was not touched
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
	Told   bool          `json:"-"`               // a client that waits was told that the lock is free
}

func (r *Result) fail(err error) { r.State, r.Error = Failed, term.Clean(say.Short(err)) }

// Done reports whether the holder's token was there, and is no more.
func (r *Result) Done() bool { return r.State == Replaced || r.State == Deleted }

// Tombstones replaces the holder's token by the operator's on all masters. ctx bounds
// how long the masters have to answer.
func Tombstones(ctx context.Context, masters []*observe.Master, key, token, operators string) []Result {
	return onEach(ctx, masters, func(m *observe.Master, r *Result) {
		a := m.Do(ctx, "EVAL", tombstoneScript, 1, key, token, operators)
		numbers, err := redis.Int64s(a.Reply, a.Err)
		if err == nil && len(numbers) != 2 {
			err = errReply
		}
		if err != nil {
			r.fail(err)
			return
		}
		r.set(numbers[0], Replaced)
		r.Left = time.Duration(numbers[1]) * time.Millisecond
	})
}

var errReply = errors.New("not the reply of the script")

// set turns what the scripts return into a state.
func (r *Result) set(code int64, done State) {
	switch code {
	case 1:
		r.State = done
	case 3:
		r.State = Missing
	case 4:
		r.State = Endless
	default:
		r.State = Changed
	}
}

// Deletions deletes the key on all masters where the token stands, and tells who
// waits first for the lock, as a release by its holder does: the queue of the lock is
// on one of the masters.
func Deletions(ctx context.Context, masters []*observe.Master, key, token string) []Result {
	queue, nobody := observe.QueueKey(key), xid.New().String()
	return onEach(ctx, masters, func(m *observe.Master, r *Result) {
		a := m.Do(ctx, "EVAL", script.Queue.Source, 2, key, queue, "release", nobody, token)
		var refused redis.Error
		if errors.As(a.Err, &refused) { // a permission is missing, or the server is too old
			a = m.Do(ctx, "EVAL", script.Release.Source, 1, key, token)
		}
		n, err := redis.Int64(a.Reply, a.Err)
		if err != nil {
			r.fail(err)
			return
		}
		r.set(n%10, Deleted)
		r.Told = n >= 10
	})
}

// onEach acts on all masters that can be reached, at once.
func onEach(ctx context.Context, masters []*observe.Master, act func(m *observe.Master, r *Result)) []Result {
	results := make([]Result, len(masters))
	observe.Each(masters, func(i int, m *observe.Master) {
		results[i].Master = m.Name()
		if err := m.Connect(ctx); err != nil {
			results[i].fail(err)
			return
		}
		act(m, &results[i])
	})
	return results
}

// Leased is until when the lock's lease record keeps others out (docs/explanation/guard.md#lease-records), by
// the master where that is longest; 0: no master has such a record, or tells.
func Leased(ctx context.Context, masters []*observe.Master, key string) time.Duration {
	left := make([]time.Duration, len(masters))
	observe.Each(masters, func(i int, m *observe.Master) {
		if m.Stats().Connected {
			left[i] = leased(ctx, m, key)
		}
	})
	return max(slices.Max(left), 0)
}

// leased asks one master. The score of a writer's lease is the negative of when it
// ends, in ms of the master's clock.
func leased(ctx context.Context, m *observe.Master, key string) time.Duration {
	a := m.Do(ctx, "ZRANGEBYSCORE", "redquorum:lease:1:"+key, "-inf", "(0", "WITHSCORES", "LIMIT", 0, 1)
	last, err := redis.Strings(a.Reply, a.Err)
	if err != nil || len(last) != 2 {
		return 0
	}
	ends, err := strconv.ParseFloat(last[1], 64)
	if err != nil || ends < -1<<53 {
		return 0
	}
	now, err := m.Clock(ctx)
	if err != nil {
		return 0
	}
	return time.UnixMilli(int64(-ends)).Sub(now.Time)
}
