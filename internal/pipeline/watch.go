package pipeline

import (
	"fmt"
	"slices"
)

// A Watcher is told of each connection of a master, and may put commands first
// on it. Its methods are called with no lock held, one at a time but for the
// first call, which comes from inside Watch; they must not block.
type Watcher interface {
	// CameUp tells of a connection: its epoch, and the run_id of the process
	// that serves it, "" if it does not tell. The calls that it returns are sent
	// before all that is queued, so that their replies come before those of
	// what is queued too; they are completed like any other.
	CameUp(epoch uint64, runID string) []*Call
	// WentDown tells that the connection of this epoch, and each before it, is
	// lost; or with an epoch that is known to be lost, that another dial has
	// failed. While redialing it is the first one after a loss, or the first of
	// all, which calls wait for.
	WentDown(epoch uint64, cause error, redialing bool)
}

// A Greeter is a Watcher that asks already while the connection is made, before anybody
// knows who serves it: that saves a round trip. Only the first connection of a pipeline
// is greeted: on a later one nothing may go out before the one before it has been killed
// (invariant S5).
type Greeter interface {
	Watcher
	// Greet returns what goes out with the handshake. It must not block. What the
	// master said stands in the calls when CameUp is called for the connection; they
	// are not completed. Where the connection does not come up, nothing follows.
	Greet() []*Call
}

// greetings is what the watchers ask on a first connection.
func (p *Pipeline) greetings() (calls []*Call) {
	p.mu.Lock()
	watchers := p.watchers
	p.mu.Unlock()
	for _, w := range watchers {
		if g, ok := w.(Greeter); ok {
			calls = append(calls, g.Greet()...)
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

// Renew replaces the connection of an epoch: the master has said something that
// means that it is not any more what it was when it was dialled. It does nothing
// where another has replaced it by now.
func (p *Pipeline) Renew(epoch uint64, why error) {
	p.mu.Lock()
	s := p.session
	p.mu.Unlock()
	if s != nil && s.epoch == epoch {
		s.fail(fmt.Errorf("%w: given up, since the master says %w", ErrConnectionLost, why))
	}
}

// first asks the watchers for what is to come first on a connection, until none
// is left that was not asked. It returns with p.mu locked. Only the supervisor
// calls it.
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
