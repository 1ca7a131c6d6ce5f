package redlock

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/go-multierror"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/pool"
)

// A MasterReport is what the client knows of one master.
type MasterReport struct {
	Master    string        // address
	Connected bool          // it can be asked now
	Err       error         // why it is not connected; nil when it is
	RunID     string        // of the Redis process, "" if it does not tell
	RoundTrip time.Duration // moving average; 0: not measured yet

	// Votes is whether its answers count. At GuardOff they do as long as it is
	// connected.
	Votes bool
	// Why says why it does not vote, what to do about it, and until when, where that
	// is known. It is nil if the master votes, and at GuardOff.
	Why *AbstainError
	// Twins are the other addresses that lead to the same server. One of all these
	// addresses has the server's vote.
	Twins []string
	// Unguarded is set where the master votes although it has not shown all that it
	// should, and says why: INFO cannot be read.
	Unguarded error
	Clock     *ClockReport // nil: not read yet, or GuardOff
}

// Masters reports how each master stands, in the order of the URLs, as the client
// saw it last. It asks no master, does not block, and ignores the context.
func (c *Client) Masters(_ context.Context) []MasterReport {
	reports := make([]MasterReport, len(c.group.Masters))
	for i, m := range c.group.Masters {
		s := m.Stats()
		reports[i] = MasterReport{
			Master: s.Name, Connected: s.Connected, Err: s.Err, RunID: s.RunID, RoundTrip: s.RoundTrip,
			Votes: s.Connected,
		}
	}
	if c.voters == nil {
		return reports
	}
	for i, s := range c.voters.Standings() {
		r := &reports[i]
		r.Votes, r.Why, r.Twins, r.Unguarded = s.Vote, publicAbstention(s.Why), s.Twins, s.Unguarded
		r.Clock = (*ClockReport)(s.Clock)
	}
	return reports
}

const readyPoll = 5 * time.Millisecond

// Ready waits until a quorum of the masters may vote, for as long as ctx allows.
// If ctx ends first the error is a *QuorumError that matches ErrNoQuorum and ctx's
// error, and says which masters may not vote and why. If the client is closed it
// matches ErrClosed. Locking does not need Ready: a program calls it to fail early
// where its masters are misconfigured.
func (c *Client) Ready(ctx context.Context) error {
	began := time.Now()
	t := time.NewTicker(readyPoll)
	defer t.Stop()
	for {
		up, missing := c.countVoters()
		if up >= c.group.Need {
			return nil
		}
		select {
		case <-t.C:
		case <-c.group.Life.Done():
			return fmt.Errorf("redlock: ready: %w", context.Cause(c.group.Life))
		case <-ctx.Done():
			return &QuorumError{
				Op: "ready", OK: up, Need: c.group.Need, Total: len(c.group.Masters),
				Elapsed: time.Since(began), Nodes: missing, kind: ErrNoQuorum, cause: ctx.Err(),
			}
		}
	}
}

// voters counts the masters that may vote, and has a *NodeError for each that
// may not.
func (c *Client) countVoters() (voting int, missing *multierror.Error) {
	absent := func(master string, err error) {
		if missing == nil {
			missing = &multierror.Error{ErrorFormat: joinNodes}
		}
		missing.Errors = append(missing.Errors, &NodeError{Master: master, Op: "ready", Err: err})
	}
	if c.voters == nil {
		for _, m := range c.group.Masters {
			if ok, err := m.Up(); ok {
				voting++
			} else {
				absent(m.Name(), err)
			}
		}
		return voting, missing
	}
	for _, s := range c.voters.Standings() {
		if s.Vote {
			voting++
		} else {
			absent(s.Master, publicAbstention(s.Why))
		}
	}
	return voting, missing
}

// ClockInfo tells that a master's clock was set, or runs faster or slower than
// WithDrift allows for.
type ClockInfo struct {
	Master    string
	Deviation *drift.Deviation
}

// A ClockReport is what is known of a master's clock.
type ClockReport struct {
	// Offset is by how much it was ahead of this machine's wall clock when it
	// was read last, a few seconds ago at the most.
	Offset drift.Span
	// RateLow and RateHigh are by how much faster it runs than this machine's,
	// 0.01 for one percent; the truth is in between. RateKnown is false while
	// nothing can be said.
	RateLow, RateHigh float64
	RateKnown         bool
	// Deviation is the last time that it was set, or ran faster or slower than
	// WithDrift allows for, as seen At; nil: it did not, as far as this client
	// has seen.
	Deviation *drift.Deviation
	At        time.Time
}

// clockChanged is what the watch of the masters' clocks tells, if anybody listens.
func (t *Trace) clockChanged() func(master string, d *drift.Deviation) {
	if t == nil || t.Clock == nil {
		return nil
	}
	return func(master string, d *drift.Deviation) { t.Clock(ClockInfo{Master: master, Deviation: d}) }
}

// Stats is a snapshot of a client. Its parts are not of one instant.
type Stats struct {
	Held    int          // locks that are held
	Waiting int          // calls that wait in this process for a lock that is taken
	Need    int          // masters that make a quorum
	Masters []pool.Stats // the connections, in the order of the URLs

	// FencingTokens is how many acquisitions and adoptions were given a fencing token
	// so far, with those that failed afterwards; FencingRaises how many of them took
	// a second round trip for it.
	FencingTokens uint64
	FencingRaises uint64
}

// Stats takes a snapshot. It does not block. A [Trace] hears what the client does
// over time; contrib/prometheus and contrib/otel count it.
func (c *Client) Stats() Stats {
	return Stats{
		Held:    c.holds.Held(),
		Waiting: c.waiting.Waiting(),
		Need:    c.group.Need,
		Masters: c.pool.Stats(),

		FencingTokens: c.wire.Fences.Tokens.Load(),
		FencingRaises: c.wire.Fences.Raises.Load(),
	}
}
