package pipeline

import (
	"sync/atomic"
	"time"
)

// Stats is a snapshot of one master's connection.
type Stats struct {
	Name       string
	Connected  bool
	Err        error         // why it is not connected; nil when it is
	Epoch      uint64        // number of the connection, counted from 1; 0: there was none yet
	RunID      string        // run_id of the master last connected to; "" if it does not tell
	InFlight   int           // commands waiting to be sent, perhaps again, or for their reply
	Commands   uint64        // replies received
	Failures   uint64        // error replies, and commands without a reply
	Reconnects uint64        // connections after the first
	RoundTrip  time.Duration // moving average; 0: not measured yet
}

// counters are written without p.mu.
type counters struct {
	epoch     atomic.Uint64
	commands  atomic.Uint64
	failures  atomic.Uint64
	roundTrip atomic.Int64 // ns
}

// sampleRoundTrip moves the average by an eighth of the difference, as TCP
// does (RFC 6298). Only the reader calls it.
func (c *counters) sampleRoundTrip(d time.Duration) {
	old := c.roundTrip.Load()
	if old == 0 {
		c.roundTrip.Store(max(int64(d), 1))
		return
	}
	c.roundTrip.Store(max(old+(int64(d)-old)/8, 1))
}

// inFlight is how many calls are queued or under way. It reads the completions first: a call
// that ends in between still counts.
func (p *Pipeline) inFlight() int {
	completed := p.completed.Load()
	return int(p.accepted.Load() - completed)
}

// Stats takes a snapshot. It does not block.
func (p *Pipeline) Stats() Stats {
	s := Stats{
		Name:      p.cfg.Name,
		Epoch:     p.epoch.Load(),
		InFlight:  p.inFlight(),
		Commands:  p.commands.Load(),
		Failures:  p.failures.Load(),
		RoundTrip: time.Duration(p.roundTrip.Load()),
	}
	if s.Epoch > 1 {
		s.Reconnects = s.Epoch - 1
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	s.Connected, s.Err, s.RunID = p.state == up, p.cause, p.id.runID
	s.InFlight += len(p.postponed)
	return s
}

// Connected reports whether the master is connected, as Up does, without a
// lock.
func (p *Pipeline) Connected() bool { return p.serving.Load() }

// Up reports whether the master is connected; otherwise the error matches
// ErrDown and says why.
func (p *Pipeline) Up() (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state == up {
		return true, nil
	}
	return false, &DownError{p.cause}
}
