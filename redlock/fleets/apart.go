package fleets

import (
	"fmt"
)

// Shards must be different fleets. One fleet under two names has no more capacity than
// one, and its masters are not independent.

// checkApart returns an error if two shards share a fleet, or a server and database, as far
// as is known.
func (s *Shards) checkApart() error {
	for i := range s.shards {
		for j := range s.shards[:i] {
			if err := s.shards[j].apart(&s.shards[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (sh *shard) apart(other *shard) error {
	for _, p := range sh.locker.fleets("") {
		for _, q := range other.locker.fleets("") {
			if what := p.fleet.shares(q.fleet); what != "" {
				return fmt.Errorf("shards %q and %q share %s: want fleets apart, each server and database in one of them", sh.name, other.name, what)
			}
		}
	}
	return nil
}

// shares says what two fleets share; "": nothing that is known.
func (o *one) shares(p *one) string {
	if o.client == p.client {
		return "a client"
	}
	if id := o.fleetID(); id != "" && id == p.fleetID() {
		return fmt.Sprintf("the fleet %s (the id in its markers)", id)
	}
	theirs := p.seam.Servers()
	for _, a := range o.seam.Servers() {
		for _, b := range theirs {
			switch {
			case a.DB != b.DB:
			case a.Name == b.Name:
				return fmt.Sprintf("the server %s, database %d", a.Name, a.DB)
			case a.RunID != "" && a.RunID == b.RunID:
				return fmt.Sprintf("a server, database %d: %s is %s (run_id %s)", a.DB, a.Name, b.Name, a.RunID)
			}
		}
	}
	return ""
}

// known reports whether everything that shares compares is known. It does not wait for
// masters that are down if the fleet's id is known.
func (o *one) known() bool {
	if o.seam.Guarded() {
		return o.fleetID() != ""
	}
	for _, s := range o.seam.Servers() {
		if s.RunID == "" {
			return false
		}
	}
	return true
}
