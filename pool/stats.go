package pool

import "github.com/redquorum/redquorum/internal/pipeline"

// Stats is a snapshot of one master's connection.
type Stats = pipeline.Stats

// Stats takes a snapshot for every master, in the order of the URLs. It does
// not block; the snapshots of different masters are not of one instant.
func (p *Pool) Stats() []Stats {
	all := make([]Stats, len(p.masters))
	for i, m := range p.masters {
		all[i] = m.Stats()
	}
	return all
}
