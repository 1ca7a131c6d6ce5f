package pool

import (
	"time"

	"github.com/redquorum/redquorum/internal/pipeline"
)

// Stats is a snapshot of one master's connection. The counts are of this pool, since it was made.
type Stats struct {
	Name       string        // the master's address
	Connected  bool          // it can be asked now
	Err        error         // why it is not connected; nil when it is
	Epoch      uint64        // number of the connection, counted from 1; 0: there was none yet
	RunID      string        // run_id of the Redis process last connected to; "": not known
	InFlight   int           // commands that wait to be sent or for their reply
	Commands   uint64        // replies received
	Failures   uint64        // error replies, and commands without a reply
	Reconnects uint64        // connections after the first
	RoundTrip  time.Duration // moving average; 0: not measured yet

	// How the master's parts in operations on locks ended: it granted or answered, refused, failed,
	// or answered after the operation's deadline.
	Agreed, Refused, Failed, TimedOut uint64

	// Round trips of the connection, one sample for each flush: how many took no longer than
	// each of RoundTripBounds, and more than the one before; the last took longer than all.
	RoundTrips   [len(RoundTripBounds) + 1]uint64
	RoundTripSum time.Duration // of all samples
}

// RoundTripBounds are the bounds of Stats.RoundTrips.
var RoundTripBounds = pipeline.RoundTripBounds

// Stats takes a snapshot for every master, in the order of the URLs. It does
// not block; the snapshots of different masters are not of one instant.
func (p *Pool) Stats() []Stats {
	all := make([]Stats, len(p.masters))
	for i, m := range p.masters {
		all[i] = statsOf(m)
	}
	return all
}

// statsOf compiles only while both types have the same fields.
func statsOf(m *pipeline.Pipeline) Stats { return Stats(m.Stats()) }
