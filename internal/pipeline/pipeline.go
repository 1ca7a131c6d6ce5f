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
	asking chan struct{} // full while the credentials callback runs
	hurry  chan struct{} // gets a value when the first call begins to wait for the master

	warnings map[string]warning // by their text; the supervisor's alone

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
	postponed   []postponed
	resending   *time.Timer    // runs sendPostponed; nil: none waits
	resendAt    time.Time      // when it does
	resends     sync.WaitGroup // of that timer; Close waits for it

	serving   atomic.Bool   // state is up; written under mu
	wanted    atomic.Int64  // calls that wait for the master, see Want
	silent    atomic.Bool   // the master has answered nothing for a quarter of StallLimit
	accepted  atomic.Uint64 // calls queued
	completed atomic.Uint64 // of those, by count
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
		asking: make(chan struct{}, 1),
		hurry:  make(chan struct{}, 1),
		cause:  ErrConnecting,

		warnings: make(map[string]warning),
	}
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
	c.Reply, c.Err, c.Checked, c.sentAt, c.Apart = nil, nil, nil, 0, false
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
		if !c.kept(time.Now()) {
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

// Close fails what is queued and under way, and waits for the goroutines. The kernel delivers
// what was written. After a reset, a master that has stopped between a lock and its answer would
// drop the release. Close blocks for as long as the dialer given by the caller takes
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
	p.resends.Wait()
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

// supervise owns the connection: it dials, serves until the connection is
// lost, and dials again.
func (p *Pipeline) supervise(ctx context.Context) {
	defer close(p.done)
	defer p.change(closed, ErrClosed, ErrClosed, nil)
	var id identity
	dials := 0    // those that failed since the last connection
	spare := true // the next loss of a connection that answered is no failure
	failures, before := 0, dialled{}
	for p.awaitDial(ctx, failures, before) {
		before = dialled{at: time.Now()}
		w, rc, next, err := p.dial(ctx, id)
		if err != nil {
			if ctx.Err() != nil {
				return
			}
			failures++
			dials++
			before.refused = isAnswer(err)
			p.wentDown(err, dials)
			continue
		}
		dials = 0
		s, ok := p.cameUp(w, rc, next)
		next.greeted = nil
		id = next
		if !ok {
			_ = w.abort()
			return
		}
		begun := time.Now()
		leftover, err := s.run()
		// A server that greets and hangs up must not be dialled in a loop, nor one that
		// answers once and then hangs up: only a connection that has lasted ends a row of
		// failures, and it may have been idle. Servers close those.
		switch before.answered = s.received.Load() > 0; {
		case before.answered && time.Since(begun) > brief, p.proved(begun, failures+1) && s.sent.Load() == 0:
			failures, spare = 0, true
		case before.answered && spare:
			failures, spare = 0, false
		default:
			failures++
		}
		p.lost(err, leftover, failures)
	}
}

// A dialled is what has become of a dial.
type dialled struct {
	at       time.Time // when it began
	answered bool      // the connection was answered before it was lost
	refused  bool      // it failed, and by what the master said
}

const (
	// mostAnswered is the longest pause after a connection that was answered.
	mostAnswered = 250 * time.Millisecond
	// wantedEvery is how often a master is dialled while calls wait for it.
	wantedEvery = 100 * time.Millisecond
)

// Want counts calls that wait for a quorum: n more, or fewer. While there are any, a master that
// is down is dialled every 100 ms, unless it is there and refuses the client.
func (p *Pipeline) Want(n int) {
	if p.wanted.Add(int64(n)) == int64(n) && n > 0 {
		select {
		case p.hurry <- struct{}{}:
		default:
		}
	}
}

// awaitDial waits before the dial that follows another one. It reports whether ctx is still
// alive.
func (p *Pipeline) awaitDial(ctx context.Context, failures int, before dialled) bool {
	d := p.backoff(failures)
	if before.answered {
		d = min(d, mostAnswered)
	}
	for due := time.Now().Add(d); ctx.Err() == nil; {
		left := time.Until(due)
		if !before.refused && p.wanted.Load() > 0 {
			left = min(left, wantedEvery-time.Since(before.at))
		}
		if left <= 0 {
			return true
		}
		t := time.NewTimer(left)
		select {
		case <-t.C:
		case <-p.hurry:
		case <-ctx.Done():
		}
		t.Stop()
	}
	return false
}

// pause waits for d and reports whether ctx is still alive.
func pause(ctx context.Context, d time.Duration) bool {
	if d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
		}
	}
	return ctx.Err() == nil
}

// jitter is random in [0, d).
func (p *Pipeline) jitter(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return p.cfg.Chance.N("redial "+p.cfg.Name, d)
}
