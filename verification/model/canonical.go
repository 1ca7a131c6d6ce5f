package model

import "slices"

// Canonical returns one representative of all states that differ from s only by a
// permutation of the masters and of the clients.
func (x *machine) Canonical(s *state) state {
	best := *s
	x.sortMasters(&best)
	for _, p := range x.perms {
		// less compares the clients' words first, and these are cheap to permute.
		w := x.permuteClients(s.clients, p)
		if w > best.clients {
			continue
		}
		n := state{clients: w}
		for m := range x.Masters {
			n.masters[m] = x.permuteMaster(s.masters[m], p)
		}
		x.sortMasters(&n)
		if n.less(&best) {
			best = n
		}
	}
	return best
}

func (s *state) less(t *state) bool {
	if s.clients != t.clients {
		return s.clients < t.clients
	}
	return slices.Compare(s.masters[:], t.masters[:]) < 0
}

func (x *machine) sortMasters(s *state) { slices.Sort(s.masters[:x.Masters]) }

// permuteClients gives client c the number p[c].
func (x *machine) permuteClients(w word, p []int) word {
	const mask = 1<<16 - 1
	kept := w
	for c := range x.Clients {
		kept &^= mask << (uint8(c) * clientBits)
	}
	for c, to := range p {
		kept |= w >> (uint8(c) * clientBits) & mask << (uint8(to) * clientBits)
	}
	return kept
}

func (x *machine) permuteMaster(w word, p []int) word {
	n := w & (1<<fPerOwner - 1)
	if owner := fOwner.get(w); owner != 0 {
		fOwner.set(&n, newToken(p[tokenClient(owner)], tokenAge(owner)))
	}
	for c, to := range p {
		x.vote[to].set(&n, x.vote[c].get(w))
		x.stray[to].set(&n, x.stray[c].get(w))
		x.queue[to].set(&n, x.queue[c].get(w))
	}
	return n
}
