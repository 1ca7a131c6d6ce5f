package fleets

import (
	"context"

	"github.com/redquorum/redquorum/redlock"
)

// An Inspection is what one fleet says of a key (see redlock.Client.Inspect).
type Inspection struct {
	Fleet string // as in FleetError
	*redlock.Inspection
}

// Inspect asks the masters of the key's shard who holds it, and changes nothing. It
// returns one Inspection; for a shard that is being moved one for each fleet. Waiting and
// errors are those of redlock.Client.Inspect, fleet by fleet.
func (s *Shards) Inspect(ctx context.Context, key string) ([]Inspection, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	var all []Inspection
	for _, p := range s.plan([]string{key}, "") {
		in, err := p.fleet.client.Inspect(ctx, key)
		if err != nil {
			return nil, inFleet(p.path, err)
		}
		all = append(all, Inspection{p.path, in})
	}
	return all, nil
}

// A MasterReport is what is known of one master (see redlock.Client.Masters).
type MasterReport struct {
	Fleet string // as in FleetError
	redlock.MasterReport
}

// Masters reports how each master stands: shard by shard in the order of their
// names, each in the order of its URLs. It does not block.
func (s *Shards) Masters(ctx context.Context) []MasterReport {
	var all []MasterReport
	for _, p := range s.fleets("") {
		for _, m := range p.fleet.client.Masters(ctx) {
			all = append(all, MasterReport{p.path, m})
		}
	}
	return all
}
