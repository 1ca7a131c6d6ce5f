// Package voters says which masters may vote now. On each new connection it asks which
// server answers and what that remembers. It asks again every few seconds, and applies
// the rules of package guard. It also follows the masters' clocks.
package voters

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/quorum"
)

// A Monitor decides which masters may vote, by the rules of package guard. It is notified of every
// connection and asks its questions first on it. So a connection is judged before the first answer
// on it counts. The client owns the Monitor. Its one goroutine looks at the masters again; the rest
// is done in the goroutine that brings the news. Only Await, Look, Init and Close block.
type Monitor struct {
	cfg      Config
	trusting bool // of a client at guard.Off: it asks nothing, and every connected master votes

	watchers []*watcher
	list     string // digest of the list of masters

	voteStates []atomic.Pointer[voteState] // written under mu
	// excluded is the quorum.MasterSet of mustExclude; written under mu.
	excluded atomic.Uint64
	open     atomic.Bool // a quorum may not vote yet, but soon may; written under mu

	wake chan struct{} // capacity 1
	quit chan struct{}
	done chan struct{}

	// mu guards what follows. The only lock taken under it is the deliverer's. What has to be sent
	// waits until unlock.
	mu         sync.Mutex
	masters    []masterState
	news       chan struct{} // closed after open has become false
	begins     chan struct{} // closed when a quorum begins to vote
	began      time.Time     // when a quorum last did
	votes      int           // masters that may vote, and answer
	closed     bool
	send       []*inquiry
	over       []chan struct{} // unlock closes them
	renew      []func()        // unlock calls them after it has released mu: they replace connections
	listLogged bool            // another list has been logged
	hasLooked  bool            // with ReadOnly: Look was called before
}

// masterState is what the Monitor knows of one master.
type masterState struct {
	facts guard.Facts
	epoch uint64 // of the connection of facts; 0: none
	// lastLostEpoch: the connections up to this one are lost.
	lastLostEpoch uint64
	redialing     bool          // calls wait for the dial that is under way
	dialled       time.Time     // when the connection came up, or was given up
	redial        time.Duration // from then until a server that is no master is dialled again, see elsewhere
	run           string        // run_id; "": not known
	looked        bool          // INFO was answered on this connection
	probed        bool          // the probe was answered, on any connection
	denies        bool          // it last refused what a release needs, or its marker, on any connection
	greeting      *inquiry      // of the latest handshake, until its connection came up; nil: none
	asking        *inquiry
	asked         time.Time     // when the last inquiry was sent
	every         time.Duration // from then until the next look at it
	looks         int           // in a row that did not say enough
	failed        bool          // the last inquiry failed
	votedAs       string        // run_id of the server whose vote it had last
	standing      guard.Standing
	warned        guard.Cause // the cause that report noted last; "": none
	clock         clockWatch
}

const (
	// lookAgain is the pause before another look at a master that may vote after it. It is
	// short at first: other clients may be declaring the fleet right now.
	lookAgain = 5 * time.Millisecond
	// mostLookAgain bounds that pause, which doubles. The bound is lookEvery if the master does not
	// answer, or has not said enough in looksAgain looks.
	mostLookAgain = 100 * time.Millisecond
	looksAgain    = 100
	// lookEvery is the longest time between two looks at a master. Its role or settings may change
	// while it is connected, and its clock may be set. Each look comes up to a tenth earlier, at
	// random. Otherwise something that happens at regular times could stay unseen between the
	// looks.
	lookEvery = 5 * time.Second
	// leastRedial and mostRedial are the times between dials of an address whose server is no
	// master: it may lead to another one by now. They double from dial to dial.
	leastRedial = 5 * time.Second
	mostRedial  = time.Minute
)

// A Config is what a Monitor needs.
type Config struct {
	*quorum.Group
	Guard guard.Config
	Owner string // the name that a marker keeps of the client that adopted its master
	// ReadOnly is for tools: the Monitor asks when Look is called, answers what a client's
	// would, and writes no marker. On a master without one it notes since when that is so.
	ReadOnly bool
	// ClockChanged, if it is not nil, is called by the deliverer when a master's clock was set, or
	// runs faster or slower than Guard.Drift allows.
	ClockChanged func(master string, d *drift.Deviation, at time.Time)
}

// New begins to watch the masters. The caller closes the Monitor.
func New(c Config) *Monitor {
	n := len(c.Masters)
	g := &Monitor{
		cfg:        c,
		trusting:   c.Guard.Level == guard.Off && !c.ReadOnly,
		voteStates: make([]atomic.Pointer[voteState], n),
		masters:    make([]masterState, n),
		begins:     make(chan struct{}),
		news:       make(chan struct{}),
		wake:       make(chan struct{}, 1),
		quit:       make(chan struct{}),
		done:       make(chan struct{}),
	}
	g.open.Store(true)
	names := make([]string, n)
	for i, m := range c.Masters {
		names[i] = m.Name()
		g.voteStates[i].Store(&voteState{reason: errUnjudged})
		w := &g.masters[i]
		w.facts.Master, w.facts.DB, w.redialing = m.Name(), m.DB(), true
		w.standing = guard.Standing{Master: m.Name(), Why: errUnjudged}
		g.watchers = append(g.watchers, &watcher{g, i})
	}
	g.list = guard.ListDigest(names)
	for i, m := range c.Masters {
		m.Watch(g.watchers[i])
	}
	go g.run()
	return g
}

// Close ends the Monitor and waits for its goroutine. Answers to questions that are
// under way are ignored.
func (g *Monitor) Close() {
	for i, m := range g.cfg.Masters {
		m.Unwatch(g.watchers[i])
	}
	g.mu.Lock()
	g.closed = true
	for i := range g.masters {
		w := &g.masters[i]
		w.epoch, w.looked, w.asking = 0, false, nil
		w.facts = guard.Facts{Master: w.facts.Master, Err: pipeline.ErrClosed}
		g.voteStates[i].Store(&voteState{reason: errUnjudged})
	}
	g.mu.Unlock()
	close(g.quit)
	<-g.done
}

// unlock releases g.mu. Then it sends what had to wait for that, and at last wakes the calls
// that wait.
func (g *Monitor) unlock() {
	send, over, renew := g.send, g.over, g.renew
	g.send, g.over, g.renew = nil, nil, nil
	closed := g.closed
	g.mu.Unlock()
	for _, c := range over {
		defer close(c)
	}
	if closed {
		return
	}
	for _, q := range send {
		q.enqueue()
	}
	for _, f := range renew {
		f()
	}
}

// A watcher watches one master.
type watcher struct {
	g *Monitor
	i int
}

// CameUp implements pipeline.Watcher.
func (e *watcher) CameUp(epoch uint64, runID string) []*pipeline.Call {
	g := e.g
	g.mu.Lock()
	defer g.unlock()
	w := &g.masters[e.i]
	if g.closed || epoch <= max(w.lastLostEpoch, w.epoch) {
		return nil
	}
	if w.run != runID || runID == "" {
		w.clock = clockWatch{} // another clock, perhaps
	}
	w.epoch, w.run, w.redialing, w.looked, w.looks, w.failed = epoch, runID, false, false, 0, false
	w.dialled = time.Now()
	w.facts = w.facts.Memory()
	w.facts.Connected, w.facts.Age = true, w.facts.Age.Earlier()
	if g.trusting {
		w.looked = true
		g.judge()
		return nil
	}
	q := w.greeting
	w.greeting = nil
	if q != nil {
		q.epoch = epoch
		if q.suffices(epoch, runID) {
			q.begin()
			w.asking = nil
			q.conclude(w)
			g.judge()
			return nil
		}
	}
	q = g.look(e.i)
	g.judge()
	return q.pointers()
}

// HandshakeCalls implements pipeline.HandshakeHook.
func (e *watcher) HandshakeCalls() []*pipeline.Call {
	g := e.g
	g.mu.Lock()
	defer g.unlock()
	if g.closed || g.trusting || g.cfg.ReadOnly { // ReadOnly: with paused clients not even the handshake would end
		return nil
	}
	q := g.greeting(e.i)
	g.masters[e.i].greeting = q
	return q.pointers()
}

// WentDown implements pipeline.Watcher.
func (e *watcher) WentDown(epoch uint64, cause error, redialing bool) {
	g := e.g
	g.mu.Lock()
	defer g.unlock()
	w := &g.masters[e.i]
	if epoch < w.epoch {
		return // of an earlier connection
	}
	w.lastLostEpoch, w.epoch, w.redialing, w.looked, w.asking = max(w.lastLostEpoch, epoch), 0, redialing, false, nil
	w.facts = w.facts.Memory()
	w.facts.Err = &pipeline.DownError{Cause: cause}
	g.judge()
}

// SilenceChanged implements pipeline.Watcher.
func (e *watcher) SilenceChanged() {
	g := e.g
	g.mu.Lock()
	defer g.unlock()
	g.countVotes()
}

// changed notes that a check has found a marker other than the judged one.
func (g *Monitor) changed(i int, j *voteState) {
	g.mu.Lock()
	defer g.unlock()
	w := &g.masters[i]
	if g.closed || w.epoch != j.epoch || w.facts.Changed || g.voteStates[i].Load().mark != j.mark {
		return // known
	}
	w.facts.Changed = true
	if w.asking == nil {
		g.send = append(g.send, g.look(i))
	}
	g.judge()
}

func (g *Monitor) signal() {
	select {
	case g.wake <- struct{}{}:
	default:
	}
}

// run is the Monitor's goroutine. It looks at the masters again, and sooner at those
// that may vote soon.
func (g *Monitor) run() {
	defer close(g.done)
	t := time.NewTimer(lookEvery)
	defer t.Stop()
	for {
		select {
		case <-g.quit:
			return
		case <-g.wake:
		case <-t.C:
		}
		t.Reset(g.tick())
	}
}

func (g *Monitor) tick() time.Duration {
	g.mu.Lock()
	defer g.unlock()
	now := g.cfg.Clock.Now()
	for i := range g.voteStates {
		if g.voteStates[i].Load().quarantineEnded(now) {
			g.judge()
			break
		}
	}
	return g.askDue()
}

// askDue asks the masters that are due. It returns the time until the next one is due, or until a
// quarantine ends. The caller must hold g.mu.
func (g *Monitor) askDue() time.Duration {
	next := lookEvery
	if g.cfg.ReadOnly || g.trusting {
		return next
	}
	for i := range g.masters {
		w := &g.masters[i]
		if w.epoch != 0 && w.elsewhere() {
			next = min(next, g.redial(i))
		}
		if left, ok := g.voteStates[i].Load().quarantine(g.cfg.Clock.Now()); ok {
			next = min(next, left)
		}
		if w.epoch == 0 || w.asking != nil {
			continue
		}
		left := w.pause() - time.Since(w.asked)
		if left > 0 {
			next = min(next, left)
			continue
		}
		g.send = append(g.send, g.look(i))
		next = min(next, w.every)
	}
	return next
}

// elsewhere reports whether the address may lead to another server by now: this one is no master,
// and another may have taken its place.
func (w *masterState) elsewhere() bool {
	return !w.standing.Vote && (w.standing.Why.Cause == guard.NotMaster || w.standing.Why.Cause == guard.NotStandalone)
}

// redial dials such a master again, if it is time. It returns the time until the next dial. The
// caller must hold g.mu.
func (g *Monitor) redial(i int) time.Duration {
	w := &g.masters[i]
	if left := time.Until(w.dialled.Add(max(w.redial, leastRedial))); left > 0 {
		return left
	}
	w.dialled, w.redial = time.Now(), min(max(2*w.redial, leastRedial), mostRedial)
	m, epoch, why := g.cfg.Masters[i], w.epoch, w.standing.Why
	g.renew = append(g.renew, func() { m.Renew(epoch, why) })
	return w.redial
}

// pause is the time from an inquiry to the next look at the master.
func (w *masterState) pause() time.Duration {
	if w.epoch == 0 || w.standing.Vote {
		return w.every
	}
	switch w.standing.Why.Cause {
	case guard.Unmarked, guard.NoMarker, guard.Changed:
		left, most := w.standing.Why.Left, mostLookAgain
		if left > 1 { // then this client may adopt it
			return min(max(left, lookAgain), w.every)
		}
		if left == 1 || w.failed || w.looks > looksAgain {
			most = w.every
		}
		return min(lookAgain<<min(w.looks, 16), most)
	default:
		return w.every
	}
}
