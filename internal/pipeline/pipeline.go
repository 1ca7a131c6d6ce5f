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

	warnings warnings // the supervisor's alone

	// mu guards what follows. No callback runs and nothing blocks under it.
	mu          sync.Mutex
	work        *sync.Cond // the writer waits here for the queue to fill
	writerWaits bool
	queue       []*Call // not written yet, oldest first
	state       state
	cause       error // why the master is not up
	session     *session
	over        uint64 // epoch of the last one that has ended
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

// New starts to connect, in the background.
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

// Name is what the master is called in errors.
func (p *Pipeline) Name() string { return p.cfg.Name }

// DB is the number of the database that its connections use.
func (p *Pipeline) DB() int { return p.cfg.DB }

// QueueLimit is how many calls may be queued or under way.
func (p *Pipeline) QueueLimit() int { return p.cfg.QueueLimit }

// Enqueue queues a call behind what is queued by now: a new one, or, from inside its owner's
// Complete, one that is sent again, perhaps with another command. It never blocks; it completes
// the call itself when the master is down, the queue is full, or the pipeline is closed.
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
		// Told before it is queued: once it is, it may be completed and used
		// again at any moment.
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
// releases already written are delivered. Close blocks for as long as the dialer given by the caller takes
// to notice that its context ended, and credentialsGrace for a credentials callback; otherwise not
// at all. It may be called more than once.
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
	p.SendPostponed() // which fail now
	p.postponed.timers.Wait()
}

// CloseUnused begins what Close does if there has never been a connection: nothing that was
// queued has been sent then, so there is nothing to be given back. It fails all of that, and
// does not wait. Otherwise it does nothing.
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
