package redlock

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/script"
	"github.com/redquorum/redquorum/internal/wakeup"
)

// A query is a question to one master alone. It is used once.
type query struct {
	c       *Client
	master  int
	script  *script.Script
	call    pipeline.Call
	state   atomic.Uint32
	settled atomic.Bool // nobody has to wait for it when the client closes
	done    chan struct{}
}

// States of a query.
const (
	queryAsked   uint32 = iota
	queryDone           // its call has come back
	queryOverdue        // not in time: the master counts as silent until it comes
	queryDropped        // nobody waits for it any more
)

// askQueue queues a question to the advisory queue of a key. keep is until when
// it is worth repeating on a later connection; zero: never.
func (c *Client) askQueue(master int, keep time.Time, key, what any, args ...any) *query {
	return c.ask(master, keep, script.Queue, []any{key, queueKey(key.(string))}, append([]any{what, c.id}, args...)...)
}

// ask queues a question to one master.
func (c *Client) ask(master int, keep time.Time, s *script.Script, keys []any, args ...any) *query {
	return c.newQuery(master, keep, s, keys, args).enqueue()
}

// askVote queues a question to one master of which the answer is a vote: see
// query.vote.
func (c *Client) askVote(master int, s *script.Script, keys []any, args ...any) *query {
	q := c.newQuery(master, time.Time{}, s, keys, args)
	q.call.Check = c.voters.Check()
	return q.enqueue()
}

func (c *Client) newQuery(master int, keep time.Time, s *script.Script, keys, args []any) *query {
	q := &query{c: c, master: master, script: s, done: make(chan struct{})}
	encoded := pipeline.AppendCommand(nil, evalSHA, s.Args(nil, keys, args...)...)
	q.call.Command = &pipeline.Command{Cmd: evalSHA, Encoded: encoded, Owner: q, Keep: keep}
	return q
}

func (q *query) enqueue() *query {
	q.c.unfinished.Add()
	q.c.masters[q.master].Enqueue(&q.call)
	return q
}

// patience is how long a pilot is waited for: about four round trips, and for
// what a busy machine may add.
func (c *Client) patience(master int, ttl time.Duration) time.Duration {
	return min(4*c.masters[master].Stats().RoundTrip+leastPatience, c.nodeTimeout(ttl))
}

const leastPatience = 20 * time.Millisecond

// wait blocks for the answer, for limit at the most, or until ctx ends or the
// client closes. The error is the answer's, pipeline.ErrTimeout, the context's
// or ErrClosed.
func (q *query) wait(ctx context.Context, limit time.Duration) (any, error) {
	select {
	case <-q.done: // however little time is left
		return q.call.Reply, q.call.Err
	default:
	}
	if limit <= 0 {
		return nil, q.overdue()
	}
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-q.done:
		return q.call.Reply, q.call.Err
	case <-t.C:
		return nil, q.overdue()
	case <-ctx.Done():
		q.state.CompareAndSwap(queryAsked, queryDropped)
		return nil, ctx.Err()
	case <-q.c.life.Done():
		q.state.CompareAndSwap(queryAsked, queryDropped)
		return nil, context.Cause(q.c.life)
	}
}

// overdue gives up on the answer. Until it comes the master counts as one that
// has not answered in time.
func (q *query) overdue() error {
	q.c.pilots.Silent(q.master)
	if !q.state.CompareAndSwap(queryAsked, queryOverdue) {
		q.c.pilots.Answered(q.master)
	}
	return pipeline.ErrTimeout
}

// vote waits for the grant of a lock, which counts only if the master may vote.
func (q *query) vote(ctx context.Context, l *Lock) (any, error) {
	reply, err := q.wait(ctx, q.c.patience(q.master, l.opts.ttl))
	if err != nil {
		return nil, err
	}
	if why := q.c.voters.Abstains(q.master, &q.call, l.start); why != nil {
		return nil, why
	}
	return reply, nil
}

// Abandoned implements pipeline.Owner.
func (q *query) Abandoned(*pipeline.Call) bool { return q.state.Load() > queryDone }

// Delayed implements pipeline.Owner.
func (q *query) Delayed(*pipeline.Call, error) { q.settle() }

// Complete implements pipeline.Owner.
func (q *query) Complete(call *pipeline.Call) {
	if pipeline.IsNoScript(call.Err) && call.Cmd == evalSHA && !q.Abandoned(call) {
		call.Command = call.With("EVAL", pipeline.EvalOf(call.Encoded, q.script.Source))
		q.c.masters[q.master].Resend(call)
		return
	}
	if q.state.Swap(queryDone) == queryOverdue {
		q.c.pilots.Answered(q.master)
	}
	close(q.done)
	q.settle()
}

func (q *query) settle() {
	if !q.settled.Swap(true) {
		q.c.unfinished.Done()
	}
}

// subscribable is the masters as package wakeup sees them.
func subscribable(masters []*pipeline.Pipeline) []wakeup.Master {
	all := make([]wakeup.Master, len(masters))
	for i, m := range masters {
		all[i] = m
	}
	return all
}
