package sim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redquorum/redquorum/redlock"
	"github.com/redquorum/redquorum/redlock/fleets"
	"github.com/redquorum/redquorum/test/proof/history"
)

// phaseOf is the phase of a client; 0: clients are not moved.
func (m *move) phaseOf(c *client) int {
	if m == nil || c.index >= len(m.phase) {
		return 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.phase[c.index]
}

// change brings a worker's client to the phase in which it is to be. It reports false
// where it is there.
func (m *move) change(k *worker, d *dice) bool {
	c := k.c
	m.mu.Lock()
	from, to := m.phase[c.index], m.wanted[c.index]
	again := m.again && c.index == m.forgotten
	m.again = m.again && !again
	m.mu.Unlock()
	if from == to && !again {
		return false
	}
	for _, a := range c.holds() { // leases that were left alone
		c.ended(a, "RESTARTS, and lets go of")
	}
	refuse := func(bool) {}
	if !m.w.p.Litter && d.one(3) { // what is on its way from who crashes is lost
		refuse = func(refused bool) {
			for i := range m.w.nodes {
				m.w.refuse(c.index, i, refused)
			}
		}
	}
	refuse(true)
	c.shut()
	refuse(false)
	k.sleep(d.between(0, m.unit/20))
	err := c.enter(m, to)
	if err != nil {
		m.w.violated(history.Stuck, fmt.Sprintf("%s cannot enter phase %d: %v", c.name, to, err))
	}
	m.w.trace.detail(c.name, fmt.Sprintf("IS IN PHASE %d", to), err)
	m.w.net.count(func(s *Stats) { s.Moved++ })
	m.mu.Lock()
	defer m.mu.Unlock()
	m.phase[c.index] = to
	return true
}

// enter makes the client one of a phase.
func (c *client) enter(m *move, phase int) error {
	switch phase {
	case 1:
		return c.open(m.urls[0], 0)
	case 2:
		return c.openBoth(m)
	default:
		return c.open(m.urls[1], len(m.urls[0]))
	}
}

// openBoth makes the client one of both fleets.
func (c *client) openBoth(m *move) error {
	old, err := c.openFleet(m.urls[0], 0)
	if err != nil {
		return err
	}
	c.w.sleep(workerLane(c.index, 0), time.Millisecond) // so that their timers keep apart
	fresh, err := c.openFleet(m.urls[1], len(m.urls[0]))
	if err != nil {
		return err
	}
	c.lock = old
	c.locker, err = fleets.Moving(fleets.One(old), fleets.One(fresh))
	return err
}

// both is what a hold in both fleets has for a token here: it has one in each.
func (c *client) both() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tokens++
	return fmt.Sprintf("both %s.%08d", c.name, c.tokens)
}

// endsWith takes notice of the end of a hold in both fleets, of which nobody else tells
// here. What it returns ends that.
func (c *client) endsWith(ctx context.Context, a *active) (let func()) {
	if c.w.move.phaseOf(c) != 2 {
		return func() {}
	}
	stop := context.AfterFunc(ctx, func() {
		switch cause := context.Cause(ctx); {
		case errors.Is(cause, redlock.ErrUnlocked):
		case errors.Is(cause, redlock.ErrLost):
			c.w.net.count(func(s *Stats) { s.Lost++ })
			c.ended(a, "HAS LOST, in one of both fleets,")
		default:
			c.ended(a, "goes on without, for its context ends,")
		}
	})
	return func() { stop() }
}

// underDo is the context that ends with the lock that a function is run under: of both
// fleets there is none but the function's.
func (c *client) underDo(ctx context.Context, l *redlock.Lock) context.Context {
	if c.w.move.phaseOf(c) == 2 {
		return ctx
	}
	return l.Context()
}
