// Package voters says which masters may vote now. On each new connection it asks which
// server answers and what that remembers. It asks again every few seconds, and applies
// the rules of package guard. It also follows the masters' clocks.
package voters

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/chance"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/pipeline"
)

// A Monitor decides which masters may vote (package guard says by what). It is
// told of every connection, and puts its questions first on it, so that a
// connection is judged before the first answer that it carries is counted. The
// client owns it; it is one goroutine, for what takes time, and does the rest
// where it hears of it. Nothing here blocks but Await, Init and Close.
type Monitor struct {
	cfg    guard.Config
	pipes  []*pipeline.Pipeline
	need   int
	clock  drift.Clock
	chance *chance.Source
	logger *slog.Logger
	life   context.Context
	// clockChanged is told of a master's clock that was set or runs off.
	clockChanged func(master string, d *drift.Deviation)

	watchers []*watcher

	rights []atomic.Pointer[votingRight] // written under mu, or by who ends a quarantine
	// excluded is those that are asked for no vote, as bits (see mustExclude); written
	// under mu.
	excluded atomic.Uint64
	open     atomic.Bool // a quorum may not vote yet, but soon may; written under mu

	wake chan struct{} // capacity 1
	quit chan struct{}
	done chan struct{}

	// mu guards what follows. No other lock is taken under it; what is to be
	// sent or told is put off until unlock.
	mu      sync.Mutex
	masters []watched
	fleet   string        // id of the fleet; "": not known
	news    chan struct{} // closed after open has become false
	closed  bool
	send    []*inquiry
	notify  []func()
	// newsOver is the news that is to be closed; nil: none.
	newsOver chan struct{}
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
	// lookAgain is the pause before another look at a master that a look may let
	// vote: short at first, when other clients may be about to declare the fleet.
	lookAgain = 5 * time.Millisecond
	// mostLookAgain is what it grows to, by doubling, unless the master does not
	// answer what it is asked: then to lookEvery.
	mostLookAgain = 100 * time.Millisecond
	// lookEvery is how far apart the looks at a master are at the most: what it was
	// dialled by may change on the living connection, and its clock may be set. Each
	// comes up to a tenth earlier, at random: else what happens in some rhythm could
	// stay between the looks for long.
	lookEvery = 5 * time.Second
)

// A Config is what a Monitor needs.
type Config struct {
	Guard   guard.Config
	Masters []*pipeline.Pipeline
	Need    int // masters that make a quorum
	Clock   drift.Clock
	Chance  *chance.Source
	Logger  *slog.Logger
	Life    context.Context // ends when nobody is to wait any more, with why as its cause
	// ClockChanged, if it is not nil, is told of a master's clock that was set or
	// runs faster or slower than Guard.Drift allows for.
	ClockChanged func(master string, d *drift.Deviation)
}

// New begins to watch the masters. The caller closes the Monitor.
func New(c Config) *Monitor {
	n := len(c.Masters)
	g := &Monitor{
		cfg: c.Guard, pipes: c.Masters, need: c.Need, clock: c.Clock, chance: c.Chance,
		logger: c.Logger, life: c.Life, clockChanged: c.ClockChanged,
		rights:  make([]atomic.Pointer[votingRight], n),
		masters: make([]watched, n),
		news:    make(chan struct{}),
		wake:    make(chan struct{}, 1),
		quit:    make(chan struct{}),
		done:    make(chan struct{}),
	}
	g.open.Store(true)
	for i, m := range c.Masters {
		g.rights[i].Store(&votingRight{reason: errUnjudged})
		w := &g.masters[i]
		w.facts.Master, w.facts.DB, w.redialing = m.Name(), m.DB(), true
		w.standing = guard.Standing{Master: m.Name(), Why: errUnjudged}
		g.watchers = append(g.watchers, &watcher{g, i})
	}
	for i, m := range g.pipes {
		m.Watch(g.watchers[i])
	}
	go g.run()
	return g
}

// Close ends the Monitor and waits for its goroutine. Questions that are under
// way come back to nobody.
func (g *Monitor) Close() {
	if g == nil {
		return
	}
	for i, m := range g.pipes {
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

// FleetID is the id that a quorum of the markers have; "": it is not known now. A nil
// Monitor knows none.
func (g *Monitor) FleetID() string {
	if g == nil {
		return ""
	}
	g.mu.Lock()
	defer g.unlock()
	return g.fleet
}

// unlock releases g.mu, and then sends and tells what was put off, last those who
// wait.
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
	w.facts = guard.Facts{Master: w.facts.Master, DB: w.facts.DB, Connected: true, Age: w.facts.Age.Earlier(), MovedTo: w.facts.MovedTo}
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
	if g.closed {
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
	w.facts = guard.Facts{Master: w.facts.Master, DB: w.facts.DB, Err: &pipeline.DownError{Cause: cause}, Age: w.facts.Age, MovedTo: w.facts.MovedTo}
	g.judge()
}

// changed takes notice that a check did not find the marker as it was judged.
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

// released takes notice of the end of a quarantine, if j is what is known.
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

// run is the Monitor's goroutine: it looks at the masters again, sooner at those
// that may have become fit to vote.
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

// askDue asks whom it is time to ask, and returns when it is time again. The
// caller must hold g.mu.
func (g *Monitor) askDue() time.Duration {
	next := lookEvery
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

// pause is how long a master is left alone after an inquiry.
func (w *watched) pause() time.Duration {
	if w.epoch == 0 || w.standing.Vote {
		return w.every
	}
	switch w.standing.Why.Cause {
	case guard.Unmarked, guard.NoMarker, guard.Changed:
		most := mostLookAgain
		if w.failed {
			most = w.every
		}
		return min(lookAgain<<min(w.looks, 16), most)
	default:
		return w.every
	}
}
