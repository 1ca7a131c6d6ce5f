package wire

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/script"
)

// A Query is a question to one master alone. It is used once.
type Query struct {
	w       *Wire
	master  int
	script  *script.Script
	needs   guard.Commands // if the answer is a vote: what the master must permit
	call    pipeline.Call
	state   atomic.Uint32
	settled atomic.Bool // Close no longer waits for it
	done    chan struct{}
}

// States of a query.
const (
	queryAsked   uint32 = iota
	queryDone           // its call has come back
	queryOverdue        // no answer in time: the master counts as silent until it comes
	queryDropped        // nobody waits for it any more
)

// query queues a question to one master. Until keep the question is sent again on a later
// connection; zero: never.
func (w *Wire) query(master int, keep time.Time, s *script.Script, keys []string, args ...any) *Query {
	return w.newQuery(master, keep, s, keys, args).enqueue()
}

// queryVote queues a question to one master whose answer is a vote: see Query.vote.
func (w *Wire) queryVote(master int, c *Claim, s *script.Script, keys []string, args ...any) *Query {
	q := w.newQuery(master, time.Time{}, s, keys, args)
	q.needs, q.call.Vote, q.call.Check = w.needsOf(c), true, w.cfg.Ballots.Voters.Check()
	return q.enqueue()
}

func (w *Wire) newQuery(master int, keep time.Time, s *script.Script, keys []string, args []any) *Query {
	q := &Query{w: w, master: master, script: s, done: make(chan struct{})}
	encoded := pipeline.AppendCommand(nil, evalSHA, s.Args(nil, keys, args...)...)
	q.call.Command = &pipeline.Command{Cmd: evalSHA, Encoded: encoded, Owner: q, RetryUntil: keep}
	return q
}

func (q *Query) enqueue() *Query {
	q.w.cfg.Ballots.InFlight.Add()
	q.w.cfg.Ballots.Masters[q.master].Enqueue(&q.call)
	return q
}

// Patience returns how long to wait for one master alone: about four round trips, and what a
// busy machine may add. It is never longer than most.
func (w *Wire) Patience(master int, most time.Duration) time.Duration {
	return min(4*w.cfg.Ballots.Masters[master].RoundTrip()+LeastPatience, most)
}

// LeastPatience is what a busy machine may add to a round trip.
const LeastPatience = 20 * time.Millisecond

// wait blocks for the answer, for limit at most, or until ctx ends or the client closes. The
// error is the answer's, pipeline.ErrTimeout, the context's, or why the client has closed.
func (q *Query) wait(ctx context.Context, limit time.Duration) (any, error) {
	select {
	case <-q.done: // also if no time is left
		return q.call.Reply, q.call.Err
	default:
	}
	if limit <= 0 {
		return nil, q.overdue()
	}
	t := time.NewTimer(limit)
	defer t.Stop()
	life := q.w.cfg.Ballots.Closing
	select {
	case <-q.done:
		return q.call.Reply, q.call.Err
	case <-t.C:
		return nil, q.overdue()
	case <-ctx.Done():
		q.state.CompareAndSwap(queryAsked, queryDropped)
		return nil, ctx.Err()
	case <-life.Done():
		q.state.CompareAndSwap(queryAsked, queryDropped)
		return nil, context.Cause(life)
	}
}

// overdue stops waiting for the answer. Until it comes, the master counts as silent.
func (q *Query) overdue() error {
	q.w.cfg.Pilots.Silent(q.master)
	if !q.state.CompareAndSwap(queryAsked, queryOverdue) {
		q.w.cfg.Pilots.Answered(q.master)
	}
	return pipeline.ErrTimeout
}

// vote waits for the grant of a lock that was asked for at start. A grant counts only if the
// master may vote.
func (q *Query) vote(ctx context.Context, start drift.Instant, limit time.Duration) (any, error) {
	reply, err := q.wait(ctx, limit)
	if err != nil {
		return nil, err
	}
	if why := q.w.cfg.Ballots.Voters.Abstains(q.master, &q.call, start, q.needs); why != nil {
		return nil, why
	}
	return reply, nil
}

// Abandoned implements pipeline.Owner.
func (q *Query) Abandoned(*pipeline.Call) bool { return q.state.Load() > queryDone }

// Delayed implements pipeline.Owner.
func (q *Query) Delayed(*pipeline.Call, error) { q.settle() }

// Complete implements pipeline.Owner.
func (q *Query) Complete(call *pipeline.Call) {
	if pipeline.IsNoScript(call.Err) && call.Cmd == evalSHA && !q.Abandoned(call) {
		call.Command = call.With("EVAL", pipeline.EvalOf(call.Encoded, q.script.Source))
		q.w.cfg.Ballots.Masters[q.master].Enqueue(call)
		return
	}
	if q.state.Swap(queryDone) == queryOverdue {
		q.w.cfg.Pilots.Answered(q.master)
	}
	close(q.done)
	q.settle()
}

func (q *Query) settle() {
	if !q.settled.Swap(true) {
		q.w.cfg.Ballots.InFlight.Done()
	}
}
