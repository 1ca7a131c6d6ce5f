package sim

import (
	"errors"
	"fmt"
	"slices"

	"github.com/redquorum/redquorum/redlock"
	"github.com/redquorum/redquorum/test/proof/history"
)

// staysClosed reports whether a fleet stays as closed as it is when those named have
// lost their data: so many masters say so that the others are no quorum. Nothing else
// keeps out a client of the first phase that has never heard of it.
func (m *move) staysClosed(fleet, without []*node) bool {
	open, forgets := 0, false
	for _, n := range fleet {
		closed := n.master.Field("redquorum:marker", "to") != ""
		switch {
		case slices.Contains(without, n):
			open++
			forgets = forgets || closed
		case !closed:
			open++
		}
	}
	return !forgets || open <= len(fleet)/2
}

// noteHold keeps a hold that was granted in the first phase.
func (m *move) noteHold(c *client, h *history.Hold) {
	if m.phaseOf(c) == 1 {
		m.mu.Lock()
		m.inFirst = append(m.inFirst, h)
		m.mu.Unlock()
	}
}

// noteRefusal counts who is refused because the fleet is closed. It reports whether that
// is what the error says.
func (m *move) noteRefusal(err error) (refused bool) {
	why, ok := errors.AsType[*redlock.AbstainError](err)
	if refused = ok && m != nil && why.Cause == redlock.AbstainMoved; refused {
		m.w.net.count(func(s *Stats) { s.Refused++ })
	}
	return refused
}

// shutOut reports whether a client is one that the old fleet is closed to.
func (m *move) shutOut(c *client) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.closed != 0 && m.phase[c.index] == 1
}

// mustBeRefused looks whether a client that the fleet is closed to is told so.
func (m *move) mustBeRefused(c *client, err error) {
	if !m.noteRefusal(err) {
		m.w.violated(history.Closed, fmt.Sprintf("%s, which was forgotten, is told %v: want that the fleet is being moved", c.name, err))
	}
}

// check looks whether the closed fleet has voted: a lock of the first phase is over a TTL
// after the closing at the latest, for nothing that was sent later counts.
func (m *move) check() {
	for _, h := range m.inFirst {
		if m.closed != 0 && h.Until > m.closed+m.w.p.TTL {
			m.w.violated(history.Closed, fmt.Sprintf("%v, valid until %v: the fleet was closed at %v", h, h.Until, m.closed))
		}
	}
}
