package redlock

import "github.com/redquorum/redquorum/pool"

// Stats is a snapshot of a client. Its parts are not of one instant.
type Stats struct {
	Held    int          // locks that are held
	Waiting int          // calls that wait in this process for a lock that is taken
	Need    int          // masters that make a quorum
	Masters []pool.Stats // the connections, in the order of the URLs

	FencingTokens uint64 // acquisitions and adoptions that came to one so far, those included that failed after that
	FencingRaises uint64 // of these, how many took a second round
}

// Stats takes a snapshot. It does not block. What the client has done since it
// was made is told by a [Trace]; package redlock/metrics counts it.
func (c *Client) Stats() Stats {
	return Stats{
		Held:    int(c.keeper.held.Load()),
		Waiting: c.waiting.Waiting(),
		Need:    c.need,
		Masters: c.pool.Stats(),

		FencingTokens: c.wire.Fences.Tokens.Load(),
		FencingRaises: c.wire.Fences.Raises.Load(),
	}
}
