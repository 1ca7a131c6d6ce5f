package sim

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redquorum/redquorum/internal/fleetseam"
	"github.com/redquorum/redquorum/internal/hash"
	"github.com/redquorum/redquorum/redlock"
	"github.com/redquorum/redquorum/test/proof/history"
)

// A stage is how far a move has come.
type stage int

// The stages, in order.
const (
	allInOld   stage = iota // every client is in the first phase
	toBoth                  // they are changed to the second, each at a moment of its own
	closing                 // all are there but who is forgotten: the old fleet is closed
	quarantine              // what was granted before runs out
	toNew                   // clients are changed to the third phase
	allInNew
)

func (s stage) String() string {
	return [...]string{"all are in the old fleet", "to both fleets", "the old fleet is closed", "locks of before run out", "to the new fleet", "all are in the new fleet"}[s]
}

// idsWithin is for how long a call waits for the ids of the fleets, at the most.
const idsWithin = 250 * time.Millisecond

// A move is how clients are moved from one fleet to another, while the run goes on:
// docs/how-to/moving-a-fleet.md. Each worker changes its client between two calls.
type move struct {
	w         *world
	fleets    [2][]*node
	urls      [2][]string
	operator  *client       // who sets up the new fleet and closes the old one
	forgotten int           // the client that stays in the first phase; -1: there is none
	last      stage         // at which the move stands still until all is over
	unit      time.Duration // by which the steps' pauses are measured

	mu      sync.Mutex    // guards what follows; a leaf
	wanted  []int         // the phase, 1 to 3, in which each client is to be
	phase   []int         // in which it is: nothing is left of it in the one before
	to      string        // the name of the move
	closed  time.Duration // when the old fleet was closed; 0: it is not
	again   bool          // the forgotten client is to be restarted, and stays where it is
	over    bool
	inFirst []*history.Hold // that were granted in the first phase
}

// newMove makes the operator. d is what else is drawn at the beginning.
func newMove(w *world, urls []string, d *dice) *move {
	p := w.p
	m := &move{w: w, forgotten: -1, last: allInNew, unit: min(p.TTL, 300*time.Millisecond)}
	m.fleets = [2][]*node{w.nodes[:p.Masters], w.nodes[p.Masters:]}
	m.urls = [2][]string{urls[:p.Masters], urls[p.Masters:]}
	m.operator = &client{w: w, index: p.Clients, name: fmt.Sprintf("c%d", p.Clients), clock: &clock{start: w.start, ppm: w.rate(d)}}
	m.operator.clock.wall.Store(int64(w.clientOffset(d, p.Clients)))
	for range p.Clients {
		m.wanted, m.phase = append(m.wanted, 1), append(m.phase, 1)
	}
	if p.Whole || d.one(2) {
		m.forgotten = d.upTo(p.Clients)
		w.trace.note("MOVE", fmt.Sprintf("c%d will be forgotten", m.forgotten))
	}
	if !p.Whole && d.one(2) {
		m.last = stage(1 + d.upTo(int(allInNew)-1))
	}
	return m
}

const moveLane = 9 // of the faults'

// direct takes the steps of the move, one after the other.
func (m *move) direct() {
	defer m.end()
	for s := allInOld; s <= m.last; s++ {
		d := roll(m.w.seed, hash.Text("move"), uint64(s))
		m.w.trace.note("MOVE", s.String())
		var failing sync.WaitGroup
		if d.one(m.w.p.Outages) {
			failing.Go(func() { m.outage(roll(m.w.seed, hash.Text("outage"), uint64(s))) })
		}
		// Not at the first instant, at which the workers begin, too.
		if m.forgotten >= 0 && d.one(3) && s > allInOld {
			m.mu.Lock()
			m.again = true
			m.mu.Unlock()
		}
		ok := m.step(s, d)
		failing.Wait()
		if !ok {
			m.w.violated(history.Stuck, fmt.Sprintf("the move is stuck in %q", s))
			return
		}
	}
}

// step does what is to be done at a stage. It reports false where it cannot be done.
func (m *move) step(s stage, d *dice) bool {
	p := m.w.p
	switch s {
	case allInOld:
		m.sleep(d.between(m.unit/2, 3*m.unit))
		return m.setUp()
	case toBoth:
		return m.changeAll(d, 2, s == m.last)
	case closing:
		if p.Unclosed {
			return true
		}
		for range 300 {
			if r, err := m.close(d); err == nil && len(r.Closed) > 0 {
				m.mu.Lock()
				m.closed = m.w.now()
				m.mu.Unlock()
				m.w.net.count(func(s *Stats) { s.Closed++ })
				return true
			}
			m.sleep(m.unit / 4)
		}
		return false
	case quarantine:
		return (p.Unclosed || p.Hasty || m.await(d)) && (!p.Visited || m.visit())
	case toNew:
		return m.changeAll(d, 3, s == m.last)
	default:
		m.sleep(3 * m.unit)
		if p.Restarts > 0 { // so that masters without data may be adopted, and vote
			m.sleep(d.between(0, 3*time.Second))
		}
		return true
	}
}

func (m *move) sleep(d time.Duration) { m.w.sleep(faultLane+moveLane, d) }

// setUp makes the operator's clients, and declares the new fleet.
func (m *move) setUp() bool {
	o := m.operator
	if err := o.openBoth(m); err != nil {
		return false
	}
	for range 300 {
		ctx, cancel := m.within(2 * m.unit)
		err := o.opened[1].Init(ctx)
		cancel()
		m.w.trace.detail("MOVE", "the new fleet is declared", err)
		m.mu.Lock()
		m.to = fleetseam.ClientOf(o.opened[1]).FleetID()
		known := m.to != ""
		m.mu.Unlock()
		if known { // declared, or adopted where masters have forgotten something meanwhile
			return true
		}
		m.sleep(m.unit / 4)
	}
	return false
}

func (m *move) within(d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithDeadline(background, m.w.start.Add(m.w.in(deadlineLane(m.operator.index, 0), d)))
}

// close closes the old fleet, or asks how far it is.
func (m *move) close(d *dice) (*redlock.FleetClosing, error) {
	ctx, cancel := m.within(d.between(m.unit/2, 5*m.unit))
	defer cancel()
	found, err := fleetseam.ClientOf(m.operator.lock).CloseFleet(ctx, m.to, false)
	r := found.(*redlock.FleetClosing)
	closed, left := 0, time.Duration(0)
	if r != nil {
		closed, left = len(r.Closed), r.Left
	}
	m.w.trace.detail("MOVE", fmt.Sprintf("%d masters are closed, %v are left", closed, left), err)
	return r, err
}

// await waits until locks of before have run out: as long as the operator was told, or
// until a later question says so.
func (m *move) await(d *dice) bool {
	asks := d.one(2)
	for range 300 {
		r, err := m.close(d)
		switch {
		case err != nil:
			m.sleep(m.unit / 4)
		case r.Left == 0:
			return true
		case asks:
			m.sleep(d.between(m.unit/20, m.unit/2))
		default:
			m.sleep(m.operator.clock.real(r.Left))
			return true
		}
	}
	return false
}

// visit has the operator lock every key in both fleets, so that the new one knows of
// all tokens.
func (m *move) visit() bool {
	o := m.operator
	k := &worker{w: m.w, c: o, lane: workerLane(o.index, 0), name: o.name}
	var opts []redlock.LockOption
	if m.w.p.Fencing {
		opts = append(opts, redlock.WithFencing())
	}
	for key, tries := 0, 0; key < m.w.p.Keys; tries++ {
		if tries == 300 {
			return false
		}
		ctx, cancel := m.within(4 * m.unit)
		asked := m.w.now()
		h, err := o.locker.Lock(ctx, fmt.Sprintf("k%d", key), opts...)
		cancel()
		if err != nil {
			m.w.trace.detail(o.name, "fails to visit a key", err)
			m.sleep(m.unit / 4)
			continue
		}
		k.unlock(o, o.granted(h, Wait, 0, false, max(asked, o.began(h))))
		key++
	}
	return true
}

// changeAll has clients change to a phase, each at a moment of its own, and waits until
// they have; some alone where the move is to stand still in between.
func (m *move) changeAll(d *dice, phase int, some bool) bool {
	var who []int
	for i := range m.wanted {
		if i != m.forgotten && (!some || d.one(2)) {
			who = append(who, i)
		}
	}
	for n := len(who) - 1; n > 0; n-- {
		i := d.upTo(n + 1)
		who[n], who[i] = who[i], who[n]
	}
	for n, i := range who {
		gap := 2 * m.unit
		if d.one(2) || m.w.p.Whole && n == 0 {
			gap = m.unit / 20 // at once
		}
		m.sleep(d.between(0, gap))
		m.mu.Lock()
		m.wanted[i] = phase
		m.mu.Unlock()
	}
	for range 2000 {
		if m.changed(who, phase) {
			m.sleep(d.between(m.unit, 3*m.unit))
			return true
		}
		m.sleep(m.unit / 20)
	}
	return false
}

func (m *move) changed(who []int, phase int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return !slices.ContainsFunc(who, func(i int) bool { return m.phase[i] != phase })
}

func (m *move) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.over = true
}

func (m *move) isOver() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.over
}

// outage takes the quorum of a fleet away for a while.
func (m *move) outage(d *dice) {
	w := m.w
	which := d.upTo(2)
	fleet := m.fleets[which]
	nodes := fleet[:len(fleet)/2+1]
	how := d.upTo(3)
	w.sleep(faultLane+moveLane+1, d.between(0, 2*m.unit))
	w.net.count(func(s *Stats) { s.Outages++ })
	w.trace.note("FAULT", fmt.Sprintf("the %s fleet has no quorum: masters %s", [...]string{"old", "new"}[which], [...]string{"are frozen", "are killed", "are cut off"}[how]))
	m.strike(nodes, how, true)
	w.sleep(faultLane+moveLane+1, d.between(m.unit/2, 4*m.unit))
	m.strike(nodes, how, false)
	w.trace.note("FAULT", "that is over")
}

func (m *move) strike(nodes []*node, how int, down bool) {
	w := m.w
	for _, n := range nodes {
		switch {
		case how == 0:
			w.net.change(func() { w.net.frozen[n.index] = down })
		case how == 1 && down:
			n.master.Kill()
		case how == 1:
			n.forgetScripts()
			w.trace.detail("FAULT", fmt.Sprintf("m%d is back", n.index), n.master.Restart(true))
		default:
			w.net.change(func() {
				for _, c := range w.everybody() {
					w.net.blocked[path{c, n.index, up}] = down
				}
			})
		}
		w.sleep(faultLane+moveLane+1, time.Microsecond)
	}
}
