package pipeline

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// A Pipeline is one master. It is safe for concurrent use.
type Pipeline struct {
	cfg    Config
	cancel context.CancelFunc
	done   chan struct{} // closed when the supervisor has ended
	hurry  chan struct{} // gets a value when the first call begins to wait for the master
	dialer dialer

	warnings warnings // only the supervisor uses it

	// mu guards what follows. No callback runs and nothing blocks under it.
	mu          sync.Mutex
	work        *sync.Cond // the writer waits here for the queue to fill
	writerWaits bool
	queue       []*Call // not written yet, oldest first
	state       state
	cause       error // why the master is not up
	session     *session
	over        uint64 // epoch of the last session that has ended
	id          identity
	watchers    []Watcher // replaced, never changed
	postponed   postponed

	serving atomic.Bool  // state is up; written under mu
	wanted  atomic.Int64 // calls that wait for the master, see AddWaiting
	silent  atomic.Bool  // the master has answered nothing for a quarter of StallLimit
	counters
}

type state uint8

const (
	connecting state = iota // the first dial, or the first one after a loss: calls wait for it
	up
	down // at least one dial failed, or the master stalled: calls fail at once
	closed
)

// New returns a pipeline that starts to connect in the background.
func New(cfg Config) *Pipeline {
	ctx, cancel := context.WithCancel(context.Background())
	p := &Pipeline{
		cfg:    cfg.withDefaults(),
		cancel: cancel,
		done:   make(chan struct{}),
		hurry:  make(chan struct{}, 1),
		cause:  ErrConnecting,

		warnings: make(warnings),
	}
	p.dialer.cfg, p.dialer.asking = &p.cfg, make(chan struct{}, 1)
	p.work = sync.NewCond(&p.mu)
	go p.supervise(ctx)
	return p
}

// Name returns the master's name in errors.
func (p *Pipeline) Name() string { return p.cfg.Name }

// DB returns the number of the database that the connections use.
func (p *Pipeline) DB() int { return p.cfg.DB }

// QueueLimit returns how many calls may be queued or in flight.
func (p *Pipeline) QueueLimit() int { return p.cfg.QueueLimit }

// Enqueue queues a call behind those in the queue. The call is new, or its owner's Complete sends
// it again, perhaps with another command. Enqueue never blocks. It completes the call itself if
// the queue is full, the pipeline is closed, or the master is down and the call is not kept. A
// call that asks for a vote also fails at once if the master is silent.
func (p *Pipeline) Enqueue(c *Call) {
	c.Reply, c.Err, c.Checked, c.sentAt, c.BatchRefused = nil, nil, nil, 0, false
	switch waiting := int64(p.accepted.Add(1) - p.completed.Load()); {
	case waiting > int64(p.cfg.QueueLimit):
		p.complete(c, ErrQueueFull)
		return
	case c.Vote && p.silent.Load():
		p.complete(c, ErrStalled)
		return
	}
	p.mu.Lock()
	if p.state == down {
		err := &DownError{p.cause}
		p.mu.Unlock()
		if !c.mayRetry(time.Now()) {
			p.complete(c, err)
			return
		}
		// Before the call is queued: afterwards it may be completed and used again at any time.
		c.Owner.Delayed(c, err)
		p.mu.Lock()
	}
	if p.state == closed {
		p.mu.Unlock()
		p.complete(c, ErrClosed)
		return
	}
	p.queue = append(p.queue, c)
	if p.writerWaits {
		p.work.Signal()
	}
	p.mu.Unlock()
}

// complete ends a call without a reply.
func (p *Pipeline) complete(c *Call, err error) {
	p.failures.Add(1)
	p.completed.Add(1)
	c.finish(err)
}

// Close fails pending calls and waits for the goroutines. It closes without a reset, so that
// releases already written are delivered. Close blocks only until the caller's dialer notices that
// its context has ended, and for credentialsGrace at most while a credentials callback runs. It
// may be called more than once.
func (p *Pipeline) Close() {
	p.mu.Lock()
	p.state, p.cause = closed, ErrClosed
	p.serving.Store(false)
	s := p.session
	written := len(p.queue) == 0 && p.writerWaits
	p.mu.Unlock()
	p.cancel()
	switch {
	case s == nil:
	case written:
		s.end(ErrClosed, s.wire.leave)
	default:
		s.fail(ErrClosed)
	}
	<-p.done
	p.SendPostponed() // they fail now
	p.postponed.timers.Wait()
}

// CloseUnused closes a pipeline that has never had a connection, and does not wait. No queued call
// was sent, so there is nothing to release: all calls fail. If there was a connection, CloseUnused
// does nothing.
func (p *Pipeline) CloseUnused() {
	p.mu.Lock()
	unused := p.session == nil && p.over == 0
	if unused {
		p.state, p.cause = closed, ErrClosed
	}
	p.mu.Unlock()
	if unused {
		p.cancel()
	}
}
