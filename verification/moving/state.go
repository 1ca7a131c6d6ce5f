package moving

import (
	"cmp"
	"slices"
)

// The fleets.
const (
	old = iota
	fresh
)

// A state is all that there is at one instant. Equal states are equal values.
type state struct {
	masters  [2][maxMasters]master
	clients  [maxClients]client
	began    bool  // the closing has
	closed   bool  // so many masters were marked that the others are no quorum
	wait     uint8 // ticks until phase three may begin, from then on
	restarts uint8 // that there were
}

// A master is what it keeps.
type master struct {
	owner uint8 // of the key: 1 and up: a client, by its present attempt; 0: there is none
	left  uint8 // ticks that the key has left
	quar  uint8 // ticks of quarantine
	mark  bool  // its fleet is closed
	votes uint8 // a bit for each client: it has agreed to the attempt that is under way
}

// A client is what it knows.
type client struct {
	phase uint8 // 0 to 2: the first to the third
	parts [2]part
	heard bool // that the old fleet is closed
}

// A part is what a client has in one fleet.
type part struct {
	state uint8
	timer uint8 // ticks: asking: since it began; held: that are left
}

const (
	none uint8 = iota
	asking
	waiting // asking, and asking again without giving back the other fleet
	held
	gone // lost, and the client holds on by the other fleet: a mistake
)

// believes reports whether a client holds the lock, as far as it knows.
func (x *machine) believes(c *client) bool {
	switch {
	case c.phase == 0:
		return c.parts[old].state == held
	case c.phase == 2 || x.has(OneFleet):
		return c.parts[fresh].state == held
	default:
		return c.parts[fresh].state == held && (c.parts[old].state == held || c.parts[old].state == gone)
	}
}

func (m master) compare(n master) int {
	return cmp.Or(
		cmp.Compare(m.owner, n.owner), cmp.Compare(m.left, n.left), cmp.Compare(m.quar, n.quar), compareBool(m.mark, n.mark), cmp.Compare(m.votes, n.votes))
}

func (c client) compare(d client) int {
	return cmp.Or(
		cmp.Compare(c.phase, d.phase), compareBool(c.heard, d.heard),
		cmp.Compare(c.parts[0].state, d.parts[0].state), cmp.Compare(c.parts[0].timer, d.parts[0].timer),
		cmp.Compare(c.parts[1].state, d.parts[1].state), cmp.Compare(c.parts[1].timer, d.parts[1].timer))
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	default:
		return 1
	}
}

// compare orders states of one configuration.
func (s *state) compare(t *state) int {
	return cmp.Or(
		slices.CompareFunc(s.clients[:], t.clients[:], client.compare),
		slices.CompareFunc(s.masters[0][:], t.masters[0][:], master.compare),
		slices.CompareFunc(s.masters[1][:], t.masters[1][:], master.compare))
}

// Canonical returns the one state that stands for all that differ from s only in which
// master of a fleet is which, and which client of those that are not forgotten.
func (x *machine) Canonical(s *state) state {
	best := *s
	x.sortMasters(&best)
	for _, p := range x.perms {
		n := *s
		x.permute(&n, s, p)
		x.sortMasters(&n)
		if n.compare(&best) < 0 {
			best = n
		}
	}
	return best
}

func (x *machine) sortMasters(s *state) {
	for f := range s.masters {
		slices.SortFunc(s.masters[f][:x.masters(f)], master.compare)
	}
}

// permute gives client c of s the number p[c] in n.
func (x *machine) permute(n, s *state, p []int) {
	for c, to := range p {
		n.clients[to] = s.clients[c]
	}
	for f := range s.masters {
		for i := range x.masters(f) {
			m, to := &s.masters[f][i], &n.masters[f][i]
			to.votes = 0
			for c, other := range p {
				to.votes |= m.votes >> c & 1 << other
			}
			if m.owner != 0 {
				to.owner = uint8(1 + p[m.owner-1])
			}
		}
	}
}
