package moving

import "cmp"

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

func (m *master) compare(n *master) int {
	return cmp.Or(
		cmp.Compare(m.owner, n.owner), cmp.Compare(m.left, n.left), cmp.Compare(m.quar, n.quar), compareBool(m.mark, n.mark), cmp.Compare(m.votes, n.votes))
}

func (c *client) compare(d *client) int {
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
	for i := range s.clients {
		if n := s.clients[i].compare(&t.clients[i]); n != 0 {
			return n
		}
	}
	for f := range s.masters {
		for i := range s.masters[f] {
			if n := s.masters[f][i].compare(&t.masters[f][i]); n != 0 {
				return n
			}
		}
	}
	return 0
}

// canonical returns the one state that stands for all that differ from s only in which
// master of a fleet is which, and which client of those that are not forgotten.
func (x *machine) canonical(s *state) state {
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

// sortMasters is an insertion sort: there are few of them.
func (x *machine) sortMasters(s *state) {
	for f := range s.masters {
		all := &s.masters[f]
		for i := 1; i < x.masters(f); i++ {
			for j := i; j > 0 && all[j].compare(&all[j-1]) < 0; j-- {
				all[j], all[j-1] = all[j-1], all[j]
			}
		}
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

// permutations are all orders of 0 to n-1 that leave the first so many as they are,
// but the one that leaves all.
func permutations(n, fixed int) [][]int {
	var all [][]int
	var extend func(head []int)
	extend = func(head []int) {
		if len(head) == n {
			all = append(all, append([]int(nil), head...))
			return
		}
	next:
		for i := range n {
			if len(head) < fixed && i != len(head) {
				continue
			}
			for _, j := range head {
				if i == j {
					continue next
				}
			}
			extend(append(head, i))
		}
	}
	extend(nil)
	return all[1:]
}
