package redlock

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/go-multierror"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/waitqueue"
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
	// Grants is whether it accepts the writes of locks, as far as is known. A master that votes and
	// does not grant is full, busy or cannot save: it still renews and releases, if it can. A lock
	// needs a quorum that votes and grants.
	Grants bool
	// Why says why it does not vote, what to do about it, and until when, where that
	// is known. It is nil if the master votes.
	Why *AbstainError
	// Aliases are the other addresses that lead to the same server. One of all these
	// addresses has the server's vote.
	Aliases []string
	// Unguarded is set if the master votes although the guard could not check everything, and says
	// why: INFO cannot be read.
	Unguarded error
	// ClockOffset is by how much its clock was ahead of this machine's wall clock when it was
	// read last, a few seconds ago at the most; nil: not read yet, or GuardOff.
	ClockOffset *drift.Span
	// ClockDeviation is the last time that its clock was set, or ran faster or slower than
	// WithDrift allows for; the client saw it at ClockDeviationAt. nil: it has seen none.
	ClockDeviation   *drift.Deviation
	ClockDeviationAt time.Time
}

// Masters reports the state of each master, in the order of the URLs, as the client saw it last. It
// asks no master and does not block.
func (c *Client) Masters() []MasterReport {
	if c.check(context.Background()) != nil {
		return nil
	}
	reports := make([]MasterReport, len(c.group.Masters))
	for i, m := range c.group.Masters {
		s := m.Stats()
		reports[i] = MasterReport{
			Master: s.Name, Connected: s.Connected, Err: s.Err, RunID: s.RunID, RoundTrip: s.RoundTrip,
		}
	}
	for i, s := range c.voters.Standings() {
		r := &reports[i]
		r.Votes, r.Why, r.Aliases, r.Unguarded = s.Vote, (*AbstainError)(s.Why), s.Aliases, s.Unguarded
		r.Grants, r.ClockOffset, r.ClockDeviation, r.ClockDeviationAt = s.Grants, s.Offset, s.Deviation, s.DeviationAt
	}
	return reports
}

const readyPoll = 5 * time.Millisecond

// Ready waits until a quorum of the masters may vote, for as long as ctx allows. It does not wait
// if that cannot help, by the rule of Lock: so many masters refuse a password or a permission, or
// have other settings, that the others make no quorum. It waits for a master that cannot be
// reached, because that may change.
//
// Without a quorum the error is a *QuorumError that says which masters may not vote and why. It
// matches ErrNoQuorum, and ctx's error if ctx ended first. If the client is closed, the error
// matches ErrClosed. Locking does not need Ready: a program calls it to fail early if its masters
// are misconfigured.
func (c *Client) Ready(ctx context.Context) error {
	if err := c.check(ctx); err != nil {
		return fmt.Errorf("redlock: ready: %w", err)
	}
	began := time.Now()
	t := time.NewTicker(readyPoll)
	defer t.Stop()
	for {
		up, lasting, missing := c.countVoters()
		if up >= c.group.Need {
			return nil
		}
		failed := &QuorumError{
			Op: "ready", OK: up, Need: c.group.Need, Total: len(c.group.Masters),
			Elapsed: time.Since(began), Nodes: missing, kind: ErrNoQuorum,
		}
		if failed.Total-lasting < failed.Need {
			return endedBy(ctx, failed)
		}
		select {
		case <-t.C:
		case <-c.group.Closing.Done():
			return endedBy(ctx, fmt.Errorf("redlock: ready: %w", context.Cause(c.group.Closing)))
		case <-ctx.Done():
			failed.cause = ctx.Err()
			return failed
		}
	}
}

// countVoters counts the masters that may vote, and those that may not until somebody changes
// something. missing has a *NodeError for each master that may not vote.
func (c *Client) countVoters() (voting, lasting int, missing *multierror.Error) {
	for i, s := range c.voters.Standings() {
		if s.Vote {
			voting++
			continue
		}
		if waitqueue.IsLasting(s.Why) {
			lasting++
		}
		if missing == nil {
			missing = &multierror.Error{ErrorFormat: joinNodes}
		}
		missing.Errors = append(missing.Errors, &NodeError{
			Master: s.Master, Op: "ready", Err: (*AbstainError)(s.Why), position: i + 1,
		})
	}
	return voting, lasting, missing
}

// Stats is a snapshot of a client. Its parts are not taken at the same instant.
type Stats struct {
	Held    int          // locks that are held
	Waiting int          // calls that wait in this process for a lock that is taken
	Need    int          // masters that make a quorum
	Masters []pool.Stats // the connections, in the order of the URLs

	// FencingTokens counts the acquisitions and adoptions that were given a fencing token so far,
	// including those that failed afterwards. FencingRaises counts those of them that took a second
	// round trip for it.
	FencingTokens uint64
	FencingRaises uint64

	// EventsDropped counts the log lines and Trace events that were dropped so far, because too
	// many waited for a log handler or a trace that is slow or blocks.
	EventsDropped uint64
}

// Stats takes a snapshot. It does not block. A [Trace] reports what the client does over time;
// contrib/prometheus and contrib/otel count that.
func (c *Client) Stats() Stats {
	if c.check(context.Background()) != nil {
		return Stats{}
	}
	return Stats{
		Held:    c.holds.Held(),
		Waiting: c.waiting.Waiting(),
		Need:    c.group.Need,
		Masters: c.pool.Stats(),

		FencingTokens: c.wire.Fences.Tokens.Load(),
		FencingRaises: c.wire.Fences.Raises.Load(),
		EventsDropped: c.group.Deliverer.Dropped(),
	}
}
