package redlock

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/script"
	"github.com/redquorum/redquorum/internal/wakeup"
)

// Of the masters one is the pilot of a key: those who wait for the key queue
// up there, and ask there before they ask the others, so that they do not split
// the votes. It plays no other part; when it is not there the next one does.

const noPilot = -1

// pilots chooses them.
type pilots struct {
	names   []uint64                      // hashes of the masters' names
	overdue []atomic.Int32                // queries that a master has not answered in time, and not since
	noQueue []atomic.Pointer[noQueueMark] // masters that do not permit a queue
}

func newPilots(masters []*pipeline.Pipeline) pilots {
	n := len(masters)
	p := pilots{names: make([]uint64, n), overdue: make([]atomic.Int32, n), noQueue: make([]atomic.Pointer[noQueueMark], n)}
	for i, m := range masters {
		p.names[i] = hashOf(m.Name())
	}
	return p
}

// A noQueueMark says that a master has refused to be a pilot. None lasts for
// good: permissions are given and keys deleted, and a caller that went on without
// the queue of which it was the first would be overtaken for as long as it waits.
// A mark ends with the connection on which it was made, and at its time anyway.
// The zero mark has ended.
type noQueueMark struct {
	epoch uint64        // of the connection
	until time.Duration // on the keeper's clock
}

// For how long a master is passed over that has refused.
const (
	noQueueFor   = time.Second     // for whatever reason, by the call that met it
	forbiddenFor = 5 * time.Second // for want of a permission, by the whole client
)

// markNoQueue makes a mark.
func (c *Client) markNoQueue(master int, d time.Duration) noQueueMark {
	return noQueueMark{epoch: c.masters[master].Stats().Epoch, until: c.keeper.now() + d}
}

// stands reports whether a mark has not ended yet.
func (c *Client) stands(master int, m noQueueMark) bool {
	return m.until > c.keeper.now() && m.epoch == c.masters[master].Stats().Epoch
}

// noteForbidden takes notice of an error that may be want of a permission.
func (c *Client) noteForbidden(master int, err error) {
	if _, ok := errors.AsType[*pipeline.ConfigError](err); ok {
		mark := c.markNoQueue(master, forbiddenFor)
		c.pilots.noQueue[master].Store(&mark)
	}
}

// permitsQueue reports whether a master has not forbidden its queues lately.
func (c *Client) permitsQueue(master int) bool {
	mark := c.pilots.noQueue[master].Load()
	return mark == nil || !c.stands(master, *mark)
}

// pilot is the key's pilot, or noPilot when no master is connected and may vote,
// but for those that passed names. Highest weight first (rendezvous hashing), so that
// clients whose lists are ordered differently agree. key has the prefix.
func (c *Client) pilot(key string, passed uint64) int {
	h := hashOf(key)
	for range c.masters {
		best, most := noPilot, uint64(0)
		for i, name := range c.pilots.names {
			if weight := mix(h ^ name); passed&(1<<i) == 0 && (best == noPilot || weight > most) {
				best, most = i, weight
			}
		}
		if best == noPilot {
			break
		}
		if c.pilots.overdue[best].Load() == 0 && c.permitsQueue(best) && c.masters[best].Connected() && c.voters.MayVote(best) {
			return best
		}
		passed |= 1 << best
	}
	return noPilot
}

// hashOf is FNV-1a, 64 bits.
func hashOf(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

// mix is the finalizer of SplitMix64.
func mix(h uint64) uint64 {
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

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
	case <-q.c.closing:
		q.state.CompareAndSwap(queryAsked, queryDropped)
		return nil, ErrClosed
	}
}

// overdue gives up on the answer. Until it comes the master counts as one that
// has not answered in time.
func (q *query) overdue() error {
	q.c.pilots.overdue[q.master].Add(1)
	if !q.state.CompareAndSwap(queryAsked, queryOverdue) {
		q.c.pilots.overdue[q.master].Add(-1)
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
		q.c.pilots.overdue[q.master].Add(-1)
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
