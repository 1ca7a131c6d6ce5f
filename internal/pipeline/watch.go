package pipeline

import (
	"fmt"
	"slices"
)

// A Watcher is notified of each connection of a master, and may send the first commands on it.
// Its methods are called with no lock held, one at a time; only the first call, from inside
// Watch, may overlap. They must not block.
type Watcher interface {
	// CameUp reports a connection: its epoch, and the run_id of the process that serves it,
	// "" if that is not known. The calls that it returns are sent before all that is queued,
	// so their replies also come first. They complete like any other.
	CameUp(epoch uint64, runID string) []*Call
	// WentDown says that the connection of this epoch, and each before it, is lost. With an
	// epoch that is known to be lost it only says that the cause has changed: another dial has
	// failed, or waits for credentials. redialing: calls wait for the next dial to end. It is
	// the first dial after a loss, or the first of all.
	WentDown(epoch uint64, cause error, redialing bool)
	// SilenceChanged says that Silent has changed. It may overlap the others, and itself.
	SilenceChanged()
}

// A HandshakeHook is a Watcher that sends calls with the handshake, before it is known which
// process serves the connection. That saves a round trip. Only a connection without a known
// predecessor carries them: on others nothing may go out before the previous one is killed
// (invariant S5).
type HandshakeHook interface {
	Watcher
	// HandshakeCalls returns the calls that go out with the handshake. It must not block. The
	// calls are not completed: they have their replies when CameUp is called for the
	// connection. If the connection does not come up, nothing follows.
	HandshakeCalls() []*Call
}

// handshakeCalls returns the calls that the watchers send with a first handshake.
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

// Watch notifies w of the present state, and of all changes from now on until Unwatch.
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

// Unwatch ends the notifications. A call of a method that has begun may still be running.
func (p *Pipeline) Unwatch(w Watcher) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.watchers = slices.DeleteFunc(slices.Clone(p.watchers), func(other Watcher) bool { return other == w })
}

// Renew replaces the connection of an epoch, because its server is no master. If the connection was
// replaced already, Renew does nothing. It logs nothing: the caller knows the reason.
func (p *Pipeline) Renew(epoch uint64, why error) {
	p.mu.Lock()
	s := p.session
	p.mu.Unlock()
	if s != nil && s.epoch == epoch {
		s.fail(&renewedError{why})
	}
}

// A renewedError is the error of a connection that Renew has ended.
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

// first gets from every watcher the calls that come first on a connection. It returns with
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

// notifyDown notifies the watchers that there is no connection.
func (p *Pipeline) notifyDown(cause error, redialing bool) {
	p.mu.Lock()
	watchers, over := p.watchers, p.over
	p.mu.Unlock()
	for _, w := range watchers {
		w.WentDown(over, cause, redialing)
	}
}
