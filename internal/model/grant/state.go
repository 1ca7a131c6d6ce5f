package grant

import "cmp"

// A state is all that there is at one instant. Equal states are equal values.
type state struct {
	masters  [maxMasters]master
	clients  [maxClients]client
	restarts uint8 // that there were
	jumps    uint8 // likewise
	highest  uint8 // fencing token of a hold so far
	notAbove bool  // a hold got a fencing token that is not above it
}

// A master is what it keeps, and what is on its way from and to each client.
type master struct {
	owner     uint8 // token of the key; 0: there is none
	left      uint8 // ticks that the key has left; never: it does not expire
	fast      uint8 // ticks by which the clock has gained on that
	quar      uint8 // ticks of quarantine
	quarFast  uint8
	lease     uint8 // token of the lease record; 0: there is none, or it is over
	leaseLeft uint8
	fence     uint8
	sides     [maxClients]side
}

const never = 255

// A side is what is between a client and a master. Pairs are by the age of the client's
// token.
type side struct {
	sets     [2]bool  // SET is on its way
	grants   [2]uint8 // a grant is on its way, to this token; 0: none
	floors   [2]uint8 // that it proposes
	messages [2]bool  // a message with this token is on its way to the client
	rollback bool     // a release of the present token is on its way: only with TriesAgain
	vote     uint8    // what the present attempt counts
	again    bool     // and counts once more: only with CountsTwice
	fence    uint8    // that the master gave to the present token
}

// What an attempt counts of a master.
const (
	noVote  uint8 = iota
	bySet         // it has executed SET
	byGrant       // it has told of a grant
)

// A client is what it knows.
type client struct {
	phase    uint8
	timer    uint8 // ticks: asking: since the token was sent; holding: that are left
	attempts uint8 // that it made; not counted where any number is allowed
	fence    uint8 // of the hold
	gaveUp   bool  // and counts all the same: only with HoldsAfterGivingUp
}

const (
	idle uint8 = iota
	asking
	holding
)

// A token belongs to a client and is that of its latest attempt (age 0) or of the one
// before (age 1). It is never 0.
func newToken(client, age int) uint8 { return uint8(1 + client<<1 + age) }

func tokenClient(token uint8) int { return int(token-1) >> 1 }
func tokenAge(token uint8) int    { return int(token-1) & 1 }

// stale reports whether nobody asks or holds with a token any more. Its client releases
// it on all masters, sooner or later.
func (s *state) stale(token uint8) bool {
	c := &s.clients[tokenClient(token)]
	return tokenAge(token) == 1 || c.phase == idle || c.gaveUp
}

func (m *master) compare(n *master) int {
	if c := cmp.Compare(m.word(), n.word()); c != 0 {
		return c
	}
	for i := range m.sides {
		if c := cmp.Compare(m.sides[i].word(), n.sides[i].word()); c != 0 {
			return c
		}
	}
	return 0
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// word is all that a master keeps, in one number.
func (m *master) word() uint64 {
	return uint64(m.owner) | uint64(m.left)<<8 | uint64(m.fast)<<16 | uint64(m.quar)<<24 |
		uint64(m.quarFast)<<32 | uint64(m.lease)<<40 | uint64(m.leaseLeft)<<48 | uint64(m.fence)<<56
}

func (d *side) word() uint64 {
	return uint64(d.grants[0]) | uint64(d.grants[1])<<8 | uint64(d.floors[0])<<16 | uint64(d.floors[1])<<24 |
		uint64(d.fence)<<32 | uint64(d.vote)<<40 |
		bit(d.sets[0])<<48 | bit(d.sets[1])<<49 | bit(d.messages[0])<<50 | bit(d.messages[1])<<51 | bit(d.rollback)<<52 | bit(d.again)<<53
}

func (c *client) word() uint64 {
	return uint64(c.phase) | uint64(c.timer)<<8 | uint64(c.attempts)<<16 | uint64(c.fence)<<24 | bit(c.gaveUp)<<32
}

// compare orders states of one configuration.
func (s *state) compare(t *state) int {
	for i := range s.clients {
		if n := cmp.Compare(s.clients[i].word(), t.clients[i].word()); n != 0 {
			return n
		}
	}
	for i := range s.masters {
		if n := s.masters[i].compare(&t.masters[i]); n != 0 {
			return n
		}
	}
	return 0
}

// canonical returns the one state that stands for all that differ from s only in which
// master is which, and which client.
func (x *machine) canonical(s *state) state {
	best := *s
	x.sortMasters(&best)
	for _, p := range x.perms {
		n := x.permute(s, p)
		x.sortMasters(&n)
		if n.compare(&best) < 0 {
			best = n
		}
	}
	return best
}

// sortMasters is an insertion sort: there are few of them.
func (x *machine) sortMasters(s *state) {
	all := &s.masters
	for i := 1; i < x.Masters; i++ {
		for j := i; j > 0 && all[j].compare(&all[j-1]) < 0; j-- {
			all[j], all[j-1] = all[j-1], all[j]
		}
	}
}

// permute is s with client c under the number p[c].
func (x *machine) permute(s *state, p []int) state {
	n := *s
	renamed := func(token uint8) uint8 {
		if token == 0 {
			return 0
		}
		return newToken(p[tokenClient(token)], tokenAge(token))
	}
	for c, to := range p {
		n.clients[to] = s.clients[c]
	}
	for i := range x.Masters {
		m := &n.masters[i]
		m.owner, m.lease = renamed(m.owner), renamed(m.lease)
		for c, to := range p {
			d := s.masters[i].sides[c]
			d.grants = [2]uint8{renamed(d.grants[0]), renamed(d.grants[1])}
			m.sides[to] = d
		}
	}
	return n
}

// permutations are all orders of 0 to n-1 but the one that leaves all.
func permutations(n int) [][]int {
	var all [][]int
	var extend func(head []int)
	extend = func(head []int) {
		if len(head) == n {
			all = append(all, append([]int(nil), head...))
			return
		}
	next:
		for i := range n {
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
