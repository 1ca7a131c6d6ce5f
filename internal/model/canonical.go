package model

// canonical returns the one state that stands for all that differ from s only
// in which master is which, and which client.
func (x *machine) canonical(s *state) state {
	best := *s
	x.sortMasters(&best)
	for _, p := range x.perms {
		// The clients' word comes first in the order, and is cheap.
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
	for i := range s.masters {
		if s.masters[i] != t.masters[i] {
			return s.masters[i] < t.masters[i]
		}
	}
	return false
}

// sortMasters is an insertion sort: there are few of them.
func (x *machine) sortMasters(s *state) {
	for i := 1; i < x.Masters; i++ {
		for j := i; j > 0 && s.masters[j] < s.masters[j-1]; j-- {
			s.masters[j], s.masters[j-1] = s.masters[j-1], s.masters[j]
		}
	}
}

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

// permutations are all orders of 0 to n-1 but the first.
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
