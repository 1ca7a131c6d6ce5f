package redlock

import "github.com/redquorum/redquorum/pool"

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
// over time; package redlock/metrics counts it.
func (c *Client) Stats() Stats {
	return Stats{
		Held:    c.holds.Held(),
		Waiting: c.waiting.Waiting(),
		Need:    c.need,
		Masters: c.pool.Stats(),

		FencingTokens: c.wire.Fences.Tokens.Load(),
		FencingRaises: c.wire.Fences.Raises.Load(),
	}
}
