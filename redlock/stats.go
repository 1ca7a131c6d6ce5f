package redlock

// Stats counts what a client has done since it was made.
type Stats struct {
	FencingTokens uint64 // acquisitions and adoptions that came to one, those included that failed after that
	FencingRaises uint64 // of these, how many took a second round
}

// Stats is a snapshot. It does not block.
func (c *Client) Stats() Stats {
	return Stats{FencingTokens: c.fences.tokens.Load(), FencingRaises: c.fences.raises.Load()}
}
