package demo

import (
	"errors"
	"slices"

	"github.com/redquorum/redquorum/cmd/internal/explain"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/redlock"
)

// The states in which a client may see a master.
const (
	seenUp       = "up"
	seenGone     = "gone"     // there is no connection
	seenSilent   = "silent"   // it does not answer
	seenRefuses  = "refuses"  // it is up, and rejects the connection
	seenAbstains = "abstains" // its vote does not count
)

// A sight is the state of a master as a client sees it, and the text about it.
type sight struct {
	master string
	state  string
	why    *redlock.AbstainError // why it abstains
	text   string
	open   bool // the state will be known in a moment
}

// see returns how a client sees a master.
func see(m *redlock.MasterReport) sight {
	s := sight{master: m.Master, state: seenUp, why: m.Why}
	switch {
	case !m.Connected:
		s.unconnected(&pipeline.DownError{Cause: m.Err})
	case m.Why != nil:
		s.state, s.text = seenAbstains, explain.Short(m.Why)
		s.open = m.Why.Cause == guard.NotConnected || m.Why.Cause == guard.Unmarked && m.Why.Err == nil
	}
	return s
}

// seeAll returns how a client sees all masters.
func seeAll(c Client) (sights []sight) {
	for _, m := range c.Masters() {
		sights = append(sights, see(&m))
	}
	return sights
}

// unconnected sets the state of a master without a connection.
func (s *sight) unconnected(err error) {
	s.state, s.text, s.open = seenRefuses, explain.Short(err), errors.Is(err, pipeline.ErrConnecting)
	if a := explain.Of(err); a.Down || s.open {
		s.state = seenGone
	} else if a.Silent {
		s.state = seenSilent
	}
}

// same reports whether nothing has changed. Gone and silent are the same: a master without
// a connection looks silent for a moment.
func (s *sight) same(before *sight) bool {
	if s.why != nil && before.why != nil {
		return s.why.Cause == before.why.Cause
	}
	return s.state == before.state || s.away() && before.away()
}

func (s *sight) away() bool { return s.state == seenGone || s.state == seenSilent }

// votes counts the masters that are up.
func votes(sights []sight) (n int) {
	for _, s := range sights {
		if s.state == seenUp {
			n++
		}
	}
	return n
}

// next returns the master whose quarantine ends first; nil: none is in quarantine.
func next(sights []sight) (first *sight) {
	for i := range slices.Backward(sights) {
		if s := &sights[i]; s.why != nil && s.why.Left > 0 && (first == nil || s.why.Left <= first.why.Left) {
			first = s
		}
	}
	return first
}
