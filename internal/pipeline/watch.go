package pipeline

import (
	"fmt"
	"slices"
)

// A Watcher hears of each connection of a master, and may put commands first on it. Its
// methods are called with no lock held, one at a time; only the first call, from inside Watch,
// may overlap. They must not block.
type Watcher interface {
	// CameUp tells of a connection: its epoch, and the run_id of the process that serves it,
	// "" if that is not known. The calls that it returns are sent before all that is queued,
	// so their replies also come first. They complete like any other.
	CameUp(epoch uint64, runID string) []*Call
	// WentDown says that the connection of this epoch, and each before it, is lost. With an
	// epoch that is known to be lost it says that another dial has failed. redialing: calls
	// wait for the dial that follows, the first one after a loss or the first of all.
	WentDown(epoch uint64, cause error, redialing bool)
	// SilenceChanged says that Silent has changed. It may overlap the others, and itself.
	SilenceChanged()
}

// A HandshakeHook is a Watcher that asks while the connection is still being made, before anybody
// knows who serves it. That saves a round trip. Only the first connection of a pipeline is
// asked so: on a later one nothing may go out before the previous one is killed (invariant
// S5).
type HandshakeHook interface {
	Watcher
	// HandshakeCalls returns the calls that go out with the handshake. It must not block. They are not
	// completed: the replies stand in them when CameUp is called for the connection. If the
	// connection does not come up, nothing follows.
	HandshakeCalls() []*Call
}

// handshakeCalls is what the watchers ask on a first connection.
func (p *Pipeline) handshakeCalls() (calls []*Call) {
	p.mu.Lock()
	watchers := p.watchers
	p.mu.Unlock()
	for _, w := range watchers {
		if g, ok := w.(HandshakeHook); ok {
			calls = append(calls, g.HandshakeCalls()...)
		}
	}
	return calls
}

// Watch tells w of the present state, and of all changes from now on until
// Unwatch.
func (p *Pipeline) Watch(w Watcher) {
	p.mu.Lock()
	p.watchers = append(slices.Clip(p.watchers), w)
	s, st, cause, over, runID := p.session, p.state, p.cause, p.over, p.id.runID
	p.mu.Unlock()
	if st != up {
		w.WentDown(over, cause, st == connecting)
		return
	}
	for _, c := range w.CameUp(s.epoch, runID) {
		p.Enqueue(c)
	}
}

// Unwatch ends that. A call of a method that has begun may still be under way.
func (p *Pipeline) Unwatch(w Watcher) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.watchers = slices.DeleteFunc(slices.Clone(p.watchers), func(other Watcher) bool { return other == w })
}

// Renew replaces the connection of an epoch: the server is no master. If the connection was replaced
// already, Renew does nothing. The log is not told: the caller knows why.
func (p *Pipeline) Renew(epoch uint64, why error) {
	p.mu.Lock()
	s := p.session
	p.mu.Unlock()
	if s != nil && s.epoch == epoch {
		s.fail(&renewedError{why})
	}
}

// A renewedError is the end of a connection by Renew.
type renewedError struct{ why error }

func (e *renewedError) Error() string {
	return fmt.Sprintf("%v: closed by this client: %v", ErrConnectionLost, e.why)
}
func (e *renewedError) Unwrap() []error { return []error{ErrConnectionLost, e.why} }

// Silent reports whether the master has answered nothing for a quarter of StallLimit.
func (p *Pipeline) Silent() bool { return p.silent.Load() }

func (p *Pipeline) setSilent(silent bool) {
	if p.silent.Swap(silent) == silent {
		return
	}
	p.mu.Lock()
	watchers := p.watchers
	p.mu.Unlock()
	for _, w := range watchers {
		w.SilenceChanged()
	}
}

// first asks every watcher for the calls that come first on a connection. It returns with
// p.mu locked. Only the supervisor calls it.
func (p *Pipeline) first(epoch uint64, runID string) (calls []*Call) {
	var asked []Watcher
	p.mu.Lock()
	for {
		i := slices.IndexFunc(p.watchers, func(w Watcher) bool { return !slices.Contains(asked, w) })
		if i < 0 || p.state == closed {
			return calls
		}
		w := p.watchers[i]
		p.mu.Unlock()
		calls, asked = append(calls, w.CameUp(epoch, runID)...), append(asked, w)
		p.mu.Lock()
	}
}

// tellDown tells the watchers that there is no connection.
func (p *Pipeline) tellDown(cause error, redialing bool) {
	p.mu.Lock()
	watchers, over := p.watchers, p.over
	p.mu.Unlock()
	for _, w := range watchers {
		w.WentDown(over, cause, redialing)
	}
}
