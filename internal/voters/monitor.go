// Package voters says which masters may vote now. On each new connection it asks which
// server answers and what that remembers. It asks again every few seconds, and applies
// the rules of package guard. It also follows the masters' clocks.
package voters

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/group"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/pipeline"
)

// A Monitor decides which masters may vote, by the rules of package guard. It hears of
// every connection and asks its questions first on it. So a connection is judged before
// the first answer on it counts. The client owns the Monitor. Its one goroutine does
// what takes time; the rest is done where the news arrives. Only Await, Init, CloseFleet
// and Close block.
type Monitor struct {
	cfg Config

	watchers []*watcher

	rights []atomic.Pointer[votingRight] // written under mu, or by who ends a quarantine
	// excluded is the quorum.Bits of mustExclude; written under mu.
	excluded atomic.Uint64
	open     atomic.Bool // a quorum may not vote yet, but soon may; written under mu
	early    atomic.Bool // see Early

	wake chan struct{} // capacity 1
	quit chan struct{}
	done chan struct{}

	// mu guards what follows. No other lock is taken under it. What has to be sent or
	// reported waits until unlock.
	mu      sync.Mutex
	masters []watched
	fleet   string        // id of the fleet; "": not known
	news    chan struct{} // closed after open has become false
	closed  bool
	send    []*inquiry
	notify  []func()
	// newsOver is the channel that unlock has to close; nil: none.
	newsOver  chan struct{}
	hasLooked bool // with ReadOnly: Look was called before
}

// watched is what the Monitor knows of one master.
type watched struct {
	facts guard.Facts
	epoch uint64 // of the connection that facts are of; 0: none
	// lastLostEpoch: the connections up to this one are lost.
	lastLostEpoch uint64
	redialing     bool     // calls wait for the dial that is under way
	run           string   // run_id, "": not told
	looked        bool     // INFO was answered on this connection
	greeting      *inquiry // with the handshake that is under way, or was; nil: none
	asking        *inquiry
	asked         time.Time     // when the last inquiry was sent
	every         time.Duration // from then until the next look at it
	looks         int           // in a row that did not tell enough
	failed        bool          // the last look told nothing
	votedAs       string        // the run_id that it had the vote of last
	standing      guard.Standing
	warned        guard.Cause // what the log was told last; 0: that it votes
	clock         clockWatch
}

const (
	// lookAgain is the pause before another look at a master that may vote after it. It is
	// short at first: other clients may be declaring the fleet right now.
	lookAgain = 5 * time.Millisecond
	// mostLookAgain is how long that pause becomes, by doubling. Where the master does not
	// answer, or has not told enough so many times, it becomes lookEvery.
	mostLookAgain = 100 * time.Millisecond
	looksAgain    = 100
	// lookEvery is the longest time between two looks at a master. Its role or settings may
	// change while it is connected, and its clock may be set. Each look comes up to a tenth
	// earlier, at random. Otherwise something that happens in a rhythm could stay unseen
	// between the looks.
	lookEvery = 5 * time.Second
)

// A Config is what a Monitor needs.
type Config struct {
	*group.Group
	Guard  guard.Config
	Logger *slog.Logger
	// ReadOnly is for tools: the Monitor asks when Look is called, answers what a client's
	// would, and writes no marker. On a master without one it notes since when that is so.
	ReadOnly bool
	// ClockChanged, if it is not nil, hears of a master's clock that was set, or that
	// runs faster or slower than Guard.Drift allows.
	ClockChanged func(master string, d *drift.Deviation)
}

// New begins to watch the masters. The caller closes the Monitor.
func New(c Config) *Monitor {
	n := len(c.Masters)
	g := &Monitor{
		cfg:     c,
		rights:  make([]atomic.Pointer[votingRight], n),
		masters: make([]watched, n),
		news:    make(chan struct{}),
		wake:    make(chan struct{}, 1),
		quit:    make(chan struct{}),
		done:    make(chan struct{}),
	}
	g.open.Store(true)
	g.early.Store(c.Guard.Level == guard.Standard && haveOneDB(c.Masters))
	for i, m := range c.Masters {
		g.rights[i].Store(&votingRight{reason: errUnjudged})
		w := &g.masters[i]
		w.facts.Master, w.facts.DB, w.redialing = m.Name(), m.DB(), true
		w.standing = guard.Standing{Master: m.Name(), Why: errUnjudged}
		g.watchers = append(g.watchers, &watcher{g, i})
	}
	for i, m := range c.Masters {
		m.Watch(g.watchers[i])
	}
	go g.run()
	return g
}

// Close ends the Monitor and waits for its goroutine. Answers to questions that are
// under way are ignored.
func (g *Monitor) Close() {
	if g == nil {
		return
	}
	for i, m := range g.cfg.Masters {
		m.Unwatch(g.watchers[i])
	}
	g.mu.Lock()
	g.closed = true
	for i := range g.masters {
		w := &g.masters[i]
		w.epoch, w.looked, w.asking = 0, false, nil
		w.facts = guard.Facts{Master: w.facts.Master, Err: pipeline.ErrClosed}
		g.rights[i].Store(&votingRight{reason: errUnjudged})
	}
	g.mu.Unlock()
	close(g.quit)
	<-g.done
}

// FleetID is the id that a quorum of the markers have; "": it is not known now, or the
// Monitor is nil.
func (g *Monitor) FleetID() string {
	if g == nil {
		return ""
	}
	g.mu.Lock()
	defer g.unlock()
	return g.fleet
}

// unlock releases g.mu. Then it reports and sends what had to wait for that, and at last
// wakes the calls that wait.
func (g *Monitor) unlock() {
	send, notify, newsOver := g.send, g.notify, g.newsOver
	g.send, g.notify, g.newsOver = nil, nil, nil
	closed := g.closed
	g.mu.Unlock()
	if newsOver != nil {
		defer close(newsOver)
	}
	if closed {
		return
	}
	for _, f := range notify {
		f()
	}
	for _, q := range send {
		q.enqueue()
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
	w.facts = guard.Facts{Master: w.facts.Master, DB: w.facts.DB, Connected: true, Age: w.facts.Age.Earlier(), MovedTo: w.facts.MovedTo, Seen: w.facts.Seen}
	q := w.greeting
	w.greeting = nil
	if q != nil {
		q.epoch = epoch
		if q.tells(epoch, runID) {
			g.asks(q)
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

// Greet implements pipeline.Greeter.
func (e *watcher) Greet() []*pipeline.Call {
	g := e.g
	g.mu.Lock()
	defer g.unlock()
	if g.closed || g.cfg.ReadOnly { // a master whose clients are paused would not even end the handshake
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
		return // of a connection before
	}
	w.lastLostEpoch, w.epoch, w.redialing, w.looked, w.asking = max(w.lastLostEpoch, epoch), 0, redialing, false, nil
	w.facts = guard.Facts{Master: w.facts.Master, DB: w.facts.DB, Err: &pipeline.DownError{Cause: cause}, Age: w.facts.Age, MovedTo: w.facts.MovedTo, Seen: w.facts.Seen}
	g.judge()
}

// changed notes that a check has found another marker than the one that was judged.
func (g *Monitor) changed(i int, j *votingRight) {
	g.mu.Lock()
	defer g.unlock()
	w := &g.masters[i]
	if g.closed || w.epoch != j.epoch || w.facts.Changed || g.rights[i].Load().mark != j.mark {
		return // known
	}
	w.facts.Changed = true
	if w.asking == nil {
		g.send = append(g.send, g.look(i))
	}
	g.judge()
}

// released notes the end of a quarantine, if j is still the master's right.
func (g *Monitor) released(i int, j *votingRight) {
	g.mu.Lock()
	defer g.unlock()
	if g.rights[i].Load() == j {
		g.judge()
	}
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
	return g.askDue()
}

// askDue asks the masters whose time has come. It returns how long it is until the next
// one's. The caller must hold g.mu.
func (g *Monitor) askDue() time.Duration {
	next := lookEvery
	if g.cfg.ReadOnly {
		return next
	}
	for i := range g.masters {
		w := &g.masters[i]
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

// pause is the time from an inquiry to the next look at the master.
func (w *watched) pause() time.Duration {
	if w.epoch == 0 || w.standing.Vote {
		return w.every
	}
	switch w.standing.Why.Cause {
	case guard.Unmarked, guard.NoMarker, guard.Changed:
		most := mostLookAgain
		if w.failed || w.looks > looksAgain {
			most = w.every
		}
		return min(lookAgain<<min(w.looks, 16), most)
	default:
		return w.every
	}
}
