package simmaster

import (
	"slices"
	"sync"
)

// gate is the master's event loop reduced to its essence: one slot, held while
// a command is executed. Waiting is done on channels, never on a mutex, so
// that virtual time goes on while a frozen master holds commands back.
//
// Commands enter in the order of their arrival and only while the master is
// not frozen. Control (inspection, the clock) goes first and enters a frozen
// master too: it is what happens outside of the stopped process.
type gate struct {
	mu       sync.Mutex // guards the fields below; held for a few instructions, never while waiting
	busy     bool
	thawed   chan struct{} // nil unless frozen; closed by thaw
	control  []*ticket
	commands []*ticket
}

// ticket waits in a queue; ready is closed when the slot is handed over to it.
type ticket struct{ ready chan struct{} }

// enter waits for the slot and reports true when it holds it. It reports false,
// not holding it, when dead is closed first or at the same time.
func (g *gate) enter(dead <-chan struct{}) bool {
	g.mu.Lock()
	if !g.busy && g.thawed == nil && len(g.commands) == 0 {
		g.busy = true
		g.mu.Unlock()
		return g.stillWanted(dead)
	}
	t := &ticket{ready: make(chan struct{})}
	g.commands = append(g.commands, t)
	g.mu.Unlock()
	select {
	case <-t.ready:
		return g.stillWanted(dead)
	case <-dead:
	}
	g.mu.Lock()
	i := slices.Index(g.commands, t)
	if i >= 0 {
		g.commands = slices.Delete(g.commands, i, i+1)
	}
	g.mu.Unlock()
	if i < 0 { // the slot was handed over at the same moment
		g.leave()
	}
	return false
}

// stillWanted gives the slot back when the connection died while it waited: a
// select with both cases ready may have taken either.
func (g *gate) stillWanted(dead <-chan struct{}) bool {
	select {
	case <-dead:
		g.leave()
		return false
	default:
		return true
	}
}

// enterControl waits for the slot no longer than the command that holds it runs.
func (g *gate) enterControl() {
	g.mu.Lock()
	if !g.busy {
		g.busy = true
		g.mu.Unlock()
		return
	}
	t := &ticket{ready: make(chan struct{})}
	g.control = append(g.control, t)
	g.mu.Unlock()
	<-t.ready
}

// leave gives the slot to the next ticket.
func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.busy = false
	g.passOn()
}

// passOn hands over a free slot. The caller must hold mu.
func (g *gate) passOn() {
	if g.busy {
		return
	}
	queue := &g.control
	if len(*queue) == 0 {
		if g.thawed != nil {
			return
		}
		queue = &g.commands
	}
	if len(*queue) == 0 {
		return
	}
	t := (*queue)[0]
	*queue = slices.Delete(*queue, 0, 1)
	g.busy = true
	close(t.ready)
}

// freeze lets no further command in, and returns when the one that is being
// executed is finished.
func (g *gate) freeze() {
	g.mu.Lock()
	if g.thawed == nil {
		g.thawed = make(chan struct{})
	}
	g.mu.Unlock()
	g.enterControl()
	g.leave()
}

// thaw undoes freeze; without one it does nothing.
func (g *gate) thaw() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.thawed == nil {
		return
	}
	close(g.thawed)
	g.thawed = nil
	g.passOn()
}

// frozen returns a channel that is closed at the thaw, or nil when not frozen.
func (g *gate) frozen() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.thawed
}

// waiting returns how many commands wait for the slot.
func (g *gate) waiting() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.commands)
}
