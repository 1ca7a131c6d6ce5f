package redlock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-multierror"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/script"
)

// An operation is a kind of question that is put to all masters.
type operation uint8

const (
	opLock    operation = iota
	opExtend            // also sets the key again where it is missing
	opAdopt             // an extension that does not
	opVerify            //
	opRelease           //
	opHolder            // asks those that refused who holds the key
)

func (op operation) String() string {
	return [...]string{"lock", "extend", "adopt", "verify", "unlock", "inspect"}[op]
}

// A verdict is what one master's answer means for the operation.
type verdict uint8

const (
	pending verdict = iota
	agreed
	refused // another holds the key, or ours is gone
	failed  // no usable answer
)

// An answer is one master's part in a round.
type answer struct {
	verdict verdict
	delayed bool       // failed for now: the call is kept for a later connection
	unsent  bool       // the call came back and the master never saw it
	missing bool       // refused because the key was not there
	late    bool       // came after the decision
	held    *HeldError // refused because somebody else's was, as far as known
	err     error      // failed because of this
}

// A round is one question to the masters: a call to each, their tally, and the
// decision. The pipelines complete the calls; whoever started the round is
// woken once when it is decided, and may look at it until release.
//
// Rounds are used again, but only when every call has come back and the
// starter has let go (invariant L4): a late reply never counts in another
// round.
type round struct {
	c     *Client
	op    operation
	lock  *Lock         // whose extension this is; nil otherwise
	start drift.Instant // read before the first byte is sent (invariant S2)
	calls []pipeline.Call
	args  [6]any // of all calls; not changed until the round is used again

	renewal bool          // the keeper started it and is told of the decision
	wake    chan struct{} // otherwise: gets one value when the round is decided
	timer   *time.Timer   // of wait

	abandoned atomic.Bool // calls that are not sent yet need not be

	// mu guards what follows. Nothing blocks under it.
	mu      sync.Mutex
	answers []answer
	tally   quorum.Tally
	outcome quorum.Outcome
	expired bool // decided by a deadline
	left    int  // calls that the pipelines still have, and one while they are being queued
	due     int  // the same without those that are delayed: what Close waits for
	inUse   bool // the starter may still look
}

// newRound takes a round from those that are free.
func (c *Client) newRound(op operation) *round {
	r, _ := c.rounds.Get().(*round)
	if r == nil {
		n := len(c.masters)
		r = &round{
			c:       c,
			calls:   make([]pipeline.Call, n),
			answers: make([]answer, n),
			wake:    make(chan struct{}, 1),
		}
	}
	r.op, r.inUse = op, true
	r.tally = quorum.Tally{Total: len(c.masters), Need: c.need}
	return r
}

// letGo ends the starter's interest in the round.
func (r *round) letGo() {
	r.mu.Lock()
	r.inUse = false
	r.unlock(0, 0)
}

// recycle is called exactly once a use, by whoever is last.
func (r *round) recycle() {
	select {
	case <-r.wake:
	default:
	}
	clear(r.answers)
	clear(r.args[:])
	for i := range r.calls {
		r.calls[i].Reply, r.calls[i].Err = nil, nil
	}
	r.lock, r.renewal, r.start = nil, false, drift.Instant{}
	r.outcome, r.expired = quorum.Open, false
	r.abandoned.Store(false)
	r.c.rounds.Put(r)
}

// ask queues the call for every master, but for those that skip names: they are
// known not to have the key. keep is until when the call is worth repeating on
// a later connection; zero: never.
func (r *round) ask(cmd string, args []any, skip uint64, keep time.Time) {
	r.c.unfinished.add()
	r.mu.Lock()
	r.left = 1 // ours, so that the round is not over before all calls are queued
	for i := range r.calls {
		if skip&(1<<i) != 0 {
			r.answers[i] = answer{verdict: refused, missing: true}
			r.tally.Refused++
			continue
		}
		r.left++
	}
	r.due = r.left
	r.mu.Unlock()
	for i := range r.calls {
		if skip&(1<<i) != 0 {
			continue
		}
		c := &r.calls[i]
		c.Cmd, c.Args, c.Owner, c.Slot, c.Keep = cmd, args, r, i, keep
		r.c.masters[i].Enqueue(c)
	}
	r.mu.Lock()
	r.decide()
	r.unlock(1, 1)
}

// unlock releases r.mu after left and due calls less are outstanding. If
// nobody needs the round any more it is free for its next use.
func (r *round) unlock(left, due int) {
	r.left -= left
	r.due -= due
	// Once it is free the round may serve another question at any moment.
	client, extended := r.c, r.lock
	finished := due != 0 && r.due == 0
	over := left != 0 && r.left == 0
	free := r.left == 0 && !r.inUse
	r.mu.Unlock()
	if free {
		r.recycle()
	}
	if finished {
		client.unfinished.done()
	}
	if over && extended != nil {
		extended.extensions.done()
	}
}

// decide takes notice of the outcome, once. The caller must hold r.mu.
func (r *round) decide() {
	if r.outcome != quorum.Open {
		return
	}
	if r.op == opHolder {
		if r.tally.Outstanding() == 0 {
			r.settle(quorum.Granted)
		}
		return
	}
	if o := r.tally.Outcome(); o != quorum.Open {
		r.settle(o)
	}
}

// settle sets the outcome and tells the starter. The caller must hold r.mu.
func (r *round) settle(o quorum.Outcome) {
	r.outcome = o
	if o != quorum.Granted && r.op != opRelease {
		r.abandoned.Store(true)
	}
	if r.renewal {
		r.c.keeper.decided(r)
		return
	}
	r.wake <- struct{}{} // capacity 1, and settled once
}

// expire decides at a deadline: whoever has not answered has failed.
func (r *round) expire() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.outcome == quorum.Open {
		r.expired = true
		r.settle(r.tally.Close())
	}
}

// wait blocks until the round is decided, for timeout at the most, or until ctx
// ends, or closing is closed. It returns the context's error or ErrClosed if
// that is what ended the wait.
func (r *round) wait(ctx context.Context, timeout time.Duration, closing <-chan struct{}) error {
	if r.timer == nil {
		r.timer = time.NewTimer(timeout)
	} else {
		r.timer.Reset(timeout)
	}
	defer r.timer.Stop()
	select {
	case <-r.wake:
		return nil
	case <-r.timer.C:
		r.expire()
		return nil
	case <-ctx.Done():
		r.expire()
		return ctx.Err()
	case <-closing:
		r.expire()
		return ErrClosed
	}
}

// Abandoned implements pipeline.Owner.
func (r *round) Abandoned(*pipeline.Call) bool { return r.abandoned.Load() }

// Delayed implements pipeline.Owner: a failure for now, which a late answer
// may still turn into something better.
func (r *round) Delayed(c *pipeline.Call, cause error) {
	r.mu.Lock()
	a := &r.answers[c.Slot]
	if a.delayed {
		r.mu.Unlock()
		return
	}
	a.delayed = true
	if !r.expired {
		a.verdict, a.err = failed, cause
		r.tally.Failed++
		r.decide()
	}
	r.unlock(0, 1)
}

// Complete implements pipeline.Owner.
func (r *round) Complete(c *pipeline.Call) {
	if pipeline.IsNoScript(c.Err) && c.Cmd == evalSHA && r.resend(c) {
		return
	}
	r.mu.Lock()
	a := &r.answers[c.Slot]
	due := 1
	if a.delayed {
		due = 0 // Delayed has counted it
	}
	a.unsent = !c.Sent
	// Answers that come after an early decision cannot change it any more, but
	// they say more exactly why it fell as it did; after a deadline they have
	// been counted as failures.
	if !r.expired && !errors.Is(c.Err, pipeline.ErrAbandoned) {
		if a.delayed {
			r.tally.Failed--
		}
		*a = r.read(c)
		a.late = r.outcome != quorum.Open
		switch a.verdict {
		case agreed:
			r.tally.OK++
		case refused:
			r.tally.Refused++
		default:
			r.tally.Failed++
		}
		r.decide()
	}
	r.unlock(1, due)
}

const evalSHA = "EVALSHA"

// resend answers NOSCRIPT with the whole script. An extension is sent again
// only while it is undecided and its lock is held: after Unlock has begun it
// would set the key again behind the release.
func (r *round) resend(c *pipeline.Call) bool {
	s := r.op.script()
	if s == nil {
		return false
	}
	if r.op != opRelease && r.abandoned.Load() {
		return false
	}
	if l := r.lock; l != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.state != held {
			return false
		}
	}
	c.Cmd, c.Args = "EVAL", s.EvalArgs(c.Args)
	r.c.masters[c.Slot].Resend(c)
	return true
}

func (op operation) script() *script.Script {
	switch op {
	case opExtend, opAdopt:
		return script.Extend
	case opVerify:
		return script.Verify
	case opRelease:
		return script.Release
	case opHolder:
		return script.Holder
	default:
		return nil
	}
}

// read turns a call that came back into an answer. Only the exact replies
// count: whatever else a server says is a failure.
func (r *round) read(c *pipeline.Call) answer {
	a := answer{unsent: !c.Sent, verdict: failed, err: c.Err}
	if c.Err != nil {
		return a
	}
	switch r.op {
	case opLock:
		switch c.Reply {
		case any("OK"):
			a.verdict = agreed
		case nil:
			a.verdict, a.held = refused, &heldUnknown
		}
	case opHolder:
		if h, ok := readHolder(c.Reply); ok {
			a.verdict, a.held = agreed, h
		}
	default:
		switch c.Reply {
		case any(int64(1)):
			a.verdict = agreed
		case any(int64(0)):
			a.verdict, a.held = refused, &heldUnknown
		case any(int64(2)), any(int64(3)):
			a.verdict, a.missing = refused, true
		}
	}
	if a.verdict == failed {
		a.err = fmt.Errorf("%w: unexpected reply %.64q", pipeline.ErrProtocol, fmt.Sprint(c.Reply))
	}
	return a
}

// heldUnknown stands for a holder that nobody has asked about yet.
var heldUnknown HeldError

// errMissing is what a master without the key says to its supposed holder.
var errMissing = errors.New("the key is not there")

// A result is what a decided round came to.
type result struct {
	outcome quorum.Outcome
	tally   quorum.Tally
	refused uint64 // masters that refused
	absent  uint64 // masters that certainly have nothing of ours
	taken   bool   // some master has another's token
}

// result looks at a decided round.
func (r *round) result() result {
	r.mu.Lock()
	defer r.mu.Unlock()
	res := result{outcome: r.outcome, tally: r.tally}
	for i := range r.answers {
		a := &r.answers[i]
		if a.verdict == refused {
			res.refused |= 1 << i
			res.taken = res.taken || !a.missing
		}
		if a.unsent || r.op == opLock && a.verdict == refused {
			res.absent |= 1 << i
		}
	}
	return res
}

// gone reports whether so many masters have answered that they do not keep our
// token that no quorum can.
func (res *result) gone() bool {
	return res.tally.Total-res.tally.Refused < res.tally.Need
}

// kind tells contention from an outage, for an acquisition that failed: by all
// answers that have come by now, since an early decision may have seen refusals
// before failures.
func (r *round) kind() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.tally.Total-r.tally.Failed < r.tally.Need {
		return ErrNoQuorum
	}
	return ErrTaken
}

// lossReason is why a lock that is gone is gone.
func (res *result) lossReason() Reason {
	if res.taken {
		return ReasonTaken
	}
	return ReasonExpired
}

// err describes a round that did not come to what it was for.
func (r *round) err(key string, kind, cause error, elapsed time.Duration) *QuorumError {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := &QuorumError{
		Op: r.op.String(), Key: key,
		OK: r.tally.OK, Need: r.tally.Need, Total: r.tally.Total,
		Elapsed: elapsed, kind: kind, cause: cause,
	}
	for i := range r.answers {
		if err := r.reason(i); err != nil && !errors.Is(err, errNotAwaited) {
			if e.Nodes == nil {
				e.Nodes = &multierror.Error{ErrorFormat: joinNodes}
			}
			e.Nodes.Errors = append(e.Nodes.Errors, &NodeError{Master: r.c.masters[i].Name(), Op: e.Op, Err: err})
		}
	}
	return e
}

// errNotAwaited is said of a master whose answer could not change the decision
// any more. It is no failure of the master's, and no cause of one.
var errNotAwaited = errors.New("decided without its answer")

// reason is why a master did not agree; nil if it did. The caller must hold
// r.mu.
func (r *round) reason(i int) error {
	switch a := &r.answers[i]; {
	case a.verdict == agreed:
		return nil
	case a.verdict == pending && r.expired:
		return pipeline.ErrTimeout
	case a.verdict == pending, a.late && a.held == &heldUnknown:
		return errNotAwaited
	case a.held != nil:
		return a.held
	case a.missing:
		return errMissing
	default:
		return a.err
	}
}

// traceNodes tells the trace each master's part.
func (r *round) traceNodes(key string) {
	t := r.c.opts.trace
	if t == nil || t.Node == nil {
		return
	}
	infos := make([]NodeInfo, len(r.answers))
	r.mu.Lock()
	for i := range r.answers {
		infos[i] = NodeInfo{Op: r.op.String(), Key: key, Master: r.c.masters[i].Name(), Err: r.reason(i)}
	}
	r.mu.Unlock()
	for _, info := range infos {
		t.Node(info)
	}
}
