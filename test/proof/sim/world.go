package sim

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/internal/chance"
	"github.com/redquorum/redquorum/internal/simmaster"
	"github.com/redquorum/redquorum/test/proof/history"
)

// A Result is the outcome of a run.
type Result struct {
	Seed       uint64
	Profile    *Profile
	Hash       uint64 // everything that happened, and when
	History    history.History
	Violations []history.Violation
	Timeline   string // with Verbose
	Stats      Stats
}

// Stats counts what happened in a run.
type Stats struct {
	Granted, Failed, Extended, Lost, Raised int
	Connections, Cuts, Twice, Joined        int
	Restarts, Blocked, Frozen, Paused, Step int
	Emptied, PutBack, Late, Refusals        int
	Blocks, Closes                          int
	Adopted, Declared                       int
	Virtual                                 time.Duration // how long it took, in its own time
}

// Add adds what another run counted.
func (s *Stats) Add(o *Stats) {
	sum, more := reflect.ValueOf(s).Elem(), reflect.ValueOf(o).Elem()
	for i := range sum.NumField() {
		sum.Field(i).SetInt(sum.Field(i).Int() + more.Field(i).Int())
	}
}

func (s *Stats) String() string {
	more := ""
	if s.Declared > 0 {
		more = fmt.Sprintf("; %d fleets declared anew", s.Declared)
	}
	if s.Adopted+s.Emptied+s.PutBack+s.Late+s.Refusals > 0 {
		more += fmt.Sprintf("; %d adopted, all masters emptied %d times, %d markers put back, "+
			"replies late %d times, %d commands refused", s.Adopted, s.Emptied, s.PutBack, s.Late, s.Refusals)
	}
	return fmt.Sprintf("%d granted, %d failed, %d extended, %d lost, %d raised; "+
		"%d connections, %d cut, %d commands twice, %d joined, "+
		"%d restarts, %d partitions, %d freezes, %d pauses, %d clock steps%s; %v of virtual time",
		s.Granted, s.Failed, s.Extended, s.Lost, s.Raised,
		s.Connections, s.Cuts, s.Twice, s.Joined,
		s.Restarts, s.Blocked, s.Frozen, s.Paused, s.Step, more, s.Virtual.Round(time.Second))
}

// Run runs a profile with a seed, in a bubble of its own. It fails t if a goroutine is left.
// Everything else that it finds is in the result.
func Run(t *testing.T, p *Profile, seed uint64, verbose bool) (r *Result) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w, err := newWorld(p, seed, verbose, false)
		if err != nil {
			t.Fatal(err)
		}
		r = w.run()
	})
	r.check()
	return r
}

// check checks what the profile promises. It runs outside of the bubble, because porcupine uses
// real time.
func (r *Result) check() {
	h := r.History
	if !r.Profile.MayOverlap {
		r.Violations = append(r.Violations, h.Overlaps()...)
		r.Violations = append(r.Violations, h.Linearizable(10*time.Second)...)
		var slots []string
		for i := range r.Profile.Slots {
			slots = append(slots, slotName(i))
		}
		r.Violations = append(r.Violations, h.CheckPermits(slots, len(slots))...)
	}
	r.Violations = append(r.Violations, r.rising().Fences()...)
	slices.SortStableFunc(r.Violations, func(a, b history.Violation) int { return int(a.At - b.At) })
}

// rising returns the holds whose fencing tokens must rise. A reader gets the highest that its
// quorum stores, which is less if a master has lost its data.
func (r *Result) rising() history.History {
	loses := func(l weighted[Loss]) bool { return l.value != Nothing }
	if r.Profile.Emptied == 0 && !slices.ContainsFunc(r.Profile.Loses, loses) {
		return r.History
	}
	return slices.DeleteFunc(slices.Clone(r.History), func(h *history.Hold) bool { return h.Shared })
}

// A world is a run in progress.
type world struct {
	*lanes
	p       *Profile
	seed    uint64
	trace   *trace
	net     *network
	nodes   []*node
	clients []*client
	// operator is a further client, which declares fleets anew. urls are those of all masters.
	operator *client
	urls     []string
	set      history.Set
	over     atomic.Bool // workers are done
	tcp      bool        // over TCP in real time, not in a bubble

	mu         sync.Mutex // guards what follows; a leaf
	history    history.History
	violations []history.Violation
}

func newWorld(p *Profile, seed uint64, verbose, tcp bool) (*world, error) {
	l := newLanes(maxClients, maxMasters)
	w := &world{lanes: l, p: p, seed: seed, trace: &trace{lanes: l, verbose: verbose}, tcp: tcp}
	d := roll(seed, chance.HashText("clocks"))
	var urls []string
	for i := range p.Masters {
		c := &clock{start: l.start, ppm: w.rate(d)}
		var ids bytes.Buffer // enough for a hundred restarts
		for range 1000 {
			fmt.Fprintf(&ids, "%016x", d.next())
		}
		offset := d.between(-p.MasterOffset, p.MasterOffset).Truncate(time.Microsecond)
		m, err := simmaster.New(simmaster.Options{
			Name: fmt.Sprintf("m%d.sim:6379", i), Now: c.Time, Rand: &ids,
			ClockOffset: offset,
		})
		if err != nil {
			w.close()
			return nil, err
		}
		w.nodes = append(w.nodes, &node{index: i, master: m, clock: c, offset: offset, loaded: make(map[string]bool)})
		if tcp {
			if err := m.Listen(); err != nil {
				w.close()
				return nil, err
			}
		}
		urls = append(urls, m.URL())
	}
	for _, n := range w.nodes {
		w.trace.note("CLOCK", fmt.Sprintf("m%d's is off by %v and runs %d ppm fast", n.index, n.offset, n.clock.ppm))
	}
	w.urls = urls
	w.net = newNetwork(l, w.trace, seed, p, w.nodes)
	w.operator = &client{w: w, index: p.Clients, name: "operator", clock: &clock{start: l.start}}
	for i := range p.Clients {
		c := &client{w: w, index: i, name: fmt.Sprintf("c%d", i), clock: &clock{start: l.start, ppm: w.rate(d)}}
		c.clock.wall.Store(int64(w.clientOffset(d, i)))
		if p.SharePools && i%2 == 1 { // both are in one process
			c.clock = w.clients[i-1].clock
		}
		off := time.Duration(c.clock.wall.Load())
		w.trace.note("CLOCK", fmt.Sprintf("%s's is off by %v and runs %d ppm fast", c.name, off, c.clock.ppm))
		l.sleep(workerLane(i, 0), time.Millisecond)
		if err := c.open(settings{urls, p.MaxTTL, p.Guard}); err != nil {
			w.close()
			return nil, err
		}
		w.clients = append(w.clients, c)
	}
	return w, nil
}

// rate draws how far the rate of a clock is off, in parts per million.
func (w *world) rate(d *dice) int64 {
	if w.p.Extremes {
		return int64((2*d.upTo(2) - 1) * w.p.PPM)
	}
	return int64(d.upTo(2*w.p.PPM+1) - w.p.PPM)
}

// clientOffset draws how far a client's wall clock is off.
func (w *world) clientOffset(d *dice, side int) time.Duration {
	if w.p.Sides != 0 { // as far apart as may be
		return time.Duration(2*(side%2)-1) * w.p.ClientOffset
	}
	return d.between(-w.p.ClientOffset, w.p.ClientOffset)
}

// run lets the workers work, then ends all faults and checks the end state.
func (w *world) run() *Result {
	defer w.close()
	var working, failing sync.WaitGroup
	for _, c := range w.clients {
		for n := range w.p.Workers {
			working.Go(func() { w.work(c, n) })
		}
	}
	w.faults(&failing)
	working.Wait()
	w.over.Store(true)
	failing.Wait()
	w.net.setCalm()
	w.setClocks()
	if w.p.Settings != 0 {
		w.unify()
	}
	w.settle()
	for _, v := range w.set.Lost() {
		w.violated(v.Kind, v.Text)
	}
	w.shut()
	w.mu.Lock()
	defer w.mu.Unlock()
	r := &Result{Seed: w.seed, Profile: w.p, History: w.history, Violations: w.violations, Stats: w.net.stats}
	r.Stats.Virtual = w.now()
	r.Hash = w.trace.hash
	if w.trace.verbose {
		r.Timeline = w.trace.text()
	}
	return r
}

// violated notes a violation that the history does not show.
func (w *world) violated(kind, text string) {
	v := history.Violation{Kind: kind, Text: text, At: w.now()}
	w.trace.note("VIOLATION", kind+": "+text)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.violations = append(w.violations, v)
}

func (w *world) shut() {
	for _, c := range w.clients {
		c.shut()
	}
	for _, c := range w.clients {
		if c.pool != nil {
			_ = c.pool.Close()
		}
	}
}

// close closes clients and masters. It may be called more than once.
func (w *world) close() {
	w.shut()
	for _, n := range w.nodes {
		n.master.Close()
	}
}
