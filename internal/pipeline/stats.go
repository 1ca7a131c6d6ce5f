package pipeline

import (
	"slices"
	"sync/atomic"
	"time"
)

// Stats is a snapshot of one master's connection.
type Stats struct {
	Name       string
	Connected  bool
	Err        error         // why it is not connected; nil when it is
	Epoch      uint64        // number of the connection, counted from 1; 0: there was none yet
	RunID      string        // run_id of the master last connected to; "": unknown
	InFlight   int           // commands waiting to be sent, perhaps again, or for their reply
	Commands   uint64        // replies received
	Failures   uint64        // error replies, and commands without a reply
	Reconnects uint64        // connections after the first
	RoundTrip  time.Duration // moving average; 0: not measured yet

	Agreed, Refused, Failed, TimedOut uint64 // how its parts in operations ended, see Count

	RoundTrips   [len(RoundTripBounds) + 1]uint64 // samples by bound; the last counts those above all bounds
	RoundTripSum time.Duration                    // of all samples
}

// RoundTripBounds are the upper bounds of the buckets of Stats.RoundTrips.
var RoundTripBounds = [...]time.Duration{
	100 * time.Microsecond, 250 * time.Microsecond, 500 * time.Microsecond,
	time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond, 10 * time.Millisecond, 25 * time.Millisecond,
	50 * time.Millisecond, 100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2500 * time.Millisecond,
}

// A Verdict says how a master's part in an operation ended.
type Verdict uint8

// Verdicts.
const (
	Agreed Verdict = iota
	Refused
	Failed
	TimedOut // it came after the operation's deadline
	verdicts
)

// Count counts how the master's part in an operation ended. Package ballot decides operations.
func (p *Pipeline) Count(v Verdict) { p.verdicts[v].Add(1) }

// counters are written without p.mu.
type counters struct {
	accepted  atomic.Uint64 // calls queued
	completed atomic.Uint64 // of these, calls that have ended or have a reply
	epoch     atomic.Uint64
	commands  atomic.Uint64
	failures  atomic.Uint64
	roundTrip atomic.Int64 // ns
	verdicts  [verdicts]atomic.Uint64

	roundTrips   [len(RoundTripBounds) + 1]atomic.Uint64
	roundTripSum atomic.Int64 // ns
}

// sampleRoundTrip counts a sample. It moves the average by an eighth of the difference, as TCP
// does (RFC 6298). Only the reader calls it.
func (c *counters) sampleRoundTrip(d time.Duration) {
	bucket, _ := slices.BinarySearch(RoundTripBounds[:], d)
	c.roundTrips[bucket].Add(1)
	c.roundTripSum.Add(int64(d))
	old := c.roundTrip.Load()
	if old == 0 {
		c.roundTrip.Store(max(int64(d), 1))
		return
	}
	c.roundTrip.Store(max(old+(int64(d)-old)/8, 1))
}

// RoundTrip is Stats.RoundTrip, without a lock.
func (c *counters) RoundTrip() time.Duration { return time.Duration(c.roundTrip.Load()) }

// inFlight returns how many calls are queued or in flight. It reads the completions first: a call
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
		RoundTrip: p.RoundTrip(),

		Agreed:       p.verdicts[Agreed].Load(),
		Refused:      p.verdicts[Refused].Load(),
		Failed:       p.verdicts[Failed].Load(),
		TimedOut:     p.verdicts[TimedOut].Load(),
		RoundTripSum: time.Duration(p.roundTripSum.Load()),
	}
	for i := range s.RoundTrips {
		s.RoundTrips[i] = p.roundTrips[i].Load()
	}
	if s.Epoch > 1 {
		s.Reconnects = s.Epoch - 1
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	s.Connected, s.Err, s.RunID = p.state == up, p.cause, p.id.runID
	s.InFlight += len(p.postponed.calls)
	return s
}

// Connected reports whether the master is connected, without a lock.
func (p *Pipeline) Connected() bool { return p.serving.Load() }
