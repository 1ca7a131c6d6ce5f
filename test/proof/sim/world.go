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

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/chance"
	"github.com/redquorum/redquorum/internal/hash"
	"github.com/redquorum/redquorum/internal/simmaster"
	"github.com/redquorum/redquorum/internal/testhook"
	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
	"github.com/redquorum/redquorum/redlock/fleets"
	"github.com/redquorum/redquorum/test/proof/history"
)

// A Result is what became of a run.
type Result struct {
	Seed       uint64
	Profile    *Profile
	Hash       uint64 // of everything that happened, and when
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
	Moved, Closed, Outages, Refused         int
	Emptied, PutBack, Late, Refusals        int
	Adopted                                 int
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
	moves := ""
	if s.Moved > 0 {
		moves = fmt.Sprintf("; %d changes of a client, %d fleets closed, %d outages of a fleet, %d calls refused by a closed one", s.Moved, s.Closed, s.Outages, s.Refused)
	}
	if data := s.Adopted + s.Emptied + s.PutBack + s.Late + s.Refusals; data > 0 {
		moves += fmt.Sprintf("; %d adopted, all masters emptied %d times, %d markers put back, replies late %d times, %d commands refused", s.Adopted, s.Emptied, s.PutBack, s.Late, s.Refusals)
	}
	return fmt.Sprintf("%d granted, %d failed, %d extended, %d lost, %d raised; %d connections, %d cut, %d commands twice, %d joined, %d restarts, %d partitions, %d freezes, %d pauses, %d clock steps%s; %v of virtual time",
		s.Granted, s.Failed, s.Extended, s.Lost, s.Raised, s.Connections, s.Cuts, s.Twice, s.Joined, s.Restarts, s.Blocked, s.Frozen, s.Paused, s.Step, moves, s.Virtual.Round(time.Second))
}

// Run runs a profile with a seed, in a bubble of its own. It fails t where a
// goroutine is left; what it finds otherwise is in the result.
func Run(t *testing.T, p *Profile, seed uint64, verbose bool) (r *Result) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w, err := newWorld(p, seed, verbose)
		if err != nil {
			t.Fatal(err)
		}
		r = w.run()
	})
	r.check()
	return r
}

// check looks for what the profile promises. It is done outside of the bubble:
// porcupine keeps to real time.
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
	if !r.Profile.MayRegress {
		r.Violations = append(r.Violations, r.rising().Fences()...)
	}
	slices.SortStableFunc(r.Violations, func(a, b history.Violation) int { return int(a.At - b.At) })
}

// rising is the holds whose tokens have to rise. A reader is told the highest that its quorum
// stores, which is less where a master has lost its data.
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
	nodes   []*node // of both fleets, where clients are moved
	clients []*client
	move    *move // nil: clients are not moved
	set     history.Set
	over    atomic.Bool // workers are done

	mu         sync.Mutex // guards what follows; a leaf
	history    history.History
	violations []history.Violation
}

// A client is one redlock.Client with a clock of its own, as a process has it; while it
// is moved it has two.
type client struct {
	w      *world
	index  int
	name   string
	clock  *clock
	lock   *redlock.Client // of the fleet that it is in; of two the old one
	locker fleets.Locker   // what it locks by
	opened []*redlock.Client
	number uint64 // of the clients that it has opened

	mu     sync.Mutex // guards what follows; no call into the library is made under it
	active []*active
	tokens int // of holds in both fleets
}

func newWorld(p *Profile, seed uint64, verbose bool) (*world, error) {
	l := newLanes(maxClients, maxMasters)
	if p.To > 0 {
		l = newLanes(p.Clients+1, p.Masters+p.To) // and whoever closes the fleet
	}
	w := &world{lanes: l, p: p, seed: seed, trace: &trace{lanes: l, verbose: verbose}}
	d := roll(seed, hash.Text("clocks"))
	var urls []string
	for i := range p.Masters + p.To {
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
		urls = append(urls, m.URL())
	}
	for _, n := range w.nodes {
		w.trace.note("CLOCK", fmt.Sprintf("m%d's is off by %v and runs %d ppm fast", n.index, n.offset, n.clock.ppm))
	}
	w.net = newNetwork(l, w.trace, seed, p, w.nodes)
	for i := range p.Clients {
		c := &client{w: w, index: i, name: fmt.Sprintf("c%d", i), clock: &clock{start: l.start, ppm: w.rate(d)}}
		c.clock.wall.Store(int64(w.clientOffset(d, i)))
		w.trace.note("CLOCK", fmt.Sprintf("%s's is off by %v and runs %d ppm fast", c.name, time.Duration(c.clock.wall.Load()), c.clock.ppm))
		l.sleep(workerLane(i, 0), time.Millisecond)
		if err := c.open(urls[:p.Masters], 0); err != nil {
			w.close()
			return nil, err
		}
		w.clients = append(w.clients, c)
	}
	if p.To > 0 {
		w.move = newMove(w, urls, d)
	}
	return w, nil
}

// rate is one of a clock, in parts a million.
func (w *world) rate(d *dice) int64 {
	if w.p.Extremes {
		return int64((2*d.upTo(2) - 1) * w.p.PPM)
	}
	return int64(d.upTo(2*w.p.PPM+1) - w.p.PPM)
}

// clientOffset is by how much a client's wall clock is off.
func (w *world) clientOffset(d *dice, side int) time.Duration {
	if w.p.Sides != 0 { // as far apart as may be
		return time.Duration(2*(side%2)-1) * w.p.ClientOffset
	}
	return d.between(-w.p.ClientOffset, w.p.ClientOffset)
}

// open makes the client one of a fleet, whose masters have the numbers from first on.
func (c *client) open(urls []string, first int) error {
	lock, err := c.openFleet(urls, first)
	if err == nil {
		c.lock, c.locker = lock, fleets.One(lock)
	}
	return err
}

// openFleet makes a redlock.Client of a fleet, whose masters have the numbers from first
// on.
func (c *client) openFleet(urls []string, first int) (*redlock.Client, error) {
	p := c.w.p
	luck := []uint64{c.w.seed, hash.Text("client"), uint64(c.index)}
	if c.number > 0 {
		luck = append(luck, c.number)
	}
	poolOpts := []pool.Option{
		pool.WithDialer(c.w.net.dialer(c.index)),
		pool.WithDialTimeout(max(10*time.Millisecond, p.StallLimit)),
		pool.WithStallLimit(max(10*time.Millisecond, p.StallLimit)),
		pool.WithBackoff(2*time.Millisecond, 50*time.Millisecond),
		pool.WithCommandTimeout(p.CommandTimeout),
	}
	opts := []redlock.Option{
		testhook.Client(testhook.Hooks{
			ID:     fmt.Sprintf("client%014d", uint64(c.index)+10*c.number),
			Chance: chance.Seeded(chance.Hash(luck...)),
			Yield:  func(master int) { c.gather(first + master) },
		}).(redlock.Option),
		redlock.WithClock(c.clock),
		redlock.WithMaxTTL(p.MaxTTL),
		redlock.WithTTL(c.ttl()),
		redlock.WithGuard(p.Guard),
		redlock.WithOutageWait(p.TTL),
		redlock.WithTrace(&redlock.Trace{Attempt: c.attempted, Renewal: c.renewed, Lost: c.lost}),
		redlock.WithPool(poolOpts...),
		redlock.WithLogger(nil),
	}
	if p.Guard == redlock.GuardStrict {
		opts = append(opts, redlock.WithClockError(p.ClockError))
	}
	if p.NoDrift {
		opts = append(opts, redlock.WithDrift(drift.Policy{}))
	}
	lock, err := redlock.Open(urls, opts...)
	if err == nil {
		c.opened = append(c.opened, lock)
		c.number++
	}
	return lock, err
}

// ttl is that of the client's locks.
func (c *client) ttl() time.Duration {
	if c.w.p.Mixed && c.index%2 == 1 {
		return c.w.p.MaxTTL
	}
	return c.w.p.TTL
}

// shut closes what the client has opened, and counts.
func (c *client) shut() {
	for _, lock := range c.opened {
		c.w.net.count(func(s *Stats) { s.Raised += int(lock.Stats().FencingRaises) })
	}
	if c.locker != nil {
		_ = c.locker.Close()
	}
	for _, lock := range c.opened {
		_ = lock.Close()
	}
	c.opened, c.locker, c.lock = nil, nil, nil
}

// gather lets commands to a master gather for Gather or longer. Without Gather it waits
// until everybody has done what there is to do at this instant. No two connections'
// timers are set for the same instant.
func (c *client) gather(master int) {
	if c.w.p.Gather == 0 {
		time.Sleep(time.Duration(1 + master))
		return
	}
	c.w.sleep(c.w.flushLane(c.index, master), c.w.p.Gather)
}

// run lets the workers work, then calms everything down and looks whether all
// is as it should be.
func (w *world) run() *Result {
	defer w.close()
	var working, failing sync.WaitGroup
	for _, c := range w.clients {
		for n := range w.p.Workers {
			working.Go(func() { w.work(c, n) })
		}
	}
	if w.move != nil {
		working.Go(w.move.direct)
	}
	w.faults(&failing)
	working.Wait()
	w.over.Store(true)
	failing.Wait()
	w.net.setCalm()
	w.setClocks()
	w.settle()
	for _, v := range w.set.Lost() {
		w.violated(v.Kind, v.Text)
	}
	w.shut()
	if w.move != nil {
		w.move.check()
	}
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

// shut closes all clients.
func (w *world) shut() {
	for _, c := range w.clients {
		c.shut()
	}
	if w.move != nil {
		w.move.operator.shut()
	}
}

// close ends what was started; more than once if need be.
func (w *world) close() {
	w.shut()
	for _, n := range w.nodes {
		n.master.Close()
	}
}
