package model

import "github.com/redquorum/redquorum/internal/hash"

// A store keeps states and tells whether it has one. States are numbered in
// the order of their arrival; each has a parent, the state it was first reached
// from.
type store struct {
	masters int
	n       int
	pages   [][]word   // states without padding, a number of them a page
	parents [][]uint32 // likewise
	table   []uint32   // open addressing: number + 1; 0: free
}

const pageStates = 1 << 16

func newStore(masters int) *store {
	return &store{masters: masters, table: make([]uint32, 1<<16)}
}

// add stores a state under the next number, unless it is known.
func (st *store) add(s *state, parent int) (added bool) {
	if 3*st.n >= 2*len(st.table) {
		st.grow()
	}
	mask := uint64(len(st.table) - 1)
	i := st.hash(s) & mask
	for ; st.table[i] != 0; i = (i + 1) & mask {
		if st.is(int(st.table[i]-1), s) {
			return false
		}
	}
	if st.n%pageStates == 0 {
		st.pages = append(st.pages, make([]word, 0, pageStates*(st.masters+1)))
		st.parents = append(st.parents, make([]uint32, 0, pageStates))
	}
	last := len(st.pages) - 1
	st.pages[last] = append(append(st.pages[last], s.clients), s.masters[:st.masters]...)
	st.parents[last] = append(st.parents[last], uint32(parent))
	st.n++
	st.table[i] = uint32(st.n)
	return true
}

func (st *store) words(i int) []word {
	size := st.masters + 1
	at := i % pageStates * size
	return st.pages[i/pageStates][at : at+size]
}

func (st *store) is(i int, s *state) bool {
	w := st.words(i)
	if w[0] != s.clients {
		return false
	}
	for m, v := range w[1:] {
		if v != s.masters[m] {
			return false
		}
	}
	return true
}

func (st *store) state(i int) (s state) {
	w := st.words(i)
	s.clients = w[0]
	copy(s.masters[:], w[1:])
	return s
}

func (st *store) parent(i int) int { return int(st.parents[i/pageStates][i%pageStates]) }

// hash mixes the words as splitmix64 does.
func (st *store) hash(s *state) uint64 {
	const step = 0x9e3779b97f4a7c15
	h := hash.Mix(uint64(s.clients) + step)
	for m := range st.masters {
		h = hash.Mix((h ^ uint64(s.masters[m])) + step)
	}
	return h
}

func (st *store) grow() {
	st.table = make([]uint32, 2*len(st.table))
	mask := uint64(len(st.table) - 1)
	for n := range st.n {
		s := st.state(n)
		i := st.hash(&s) & mask
		for st.table[i] != 0 {
			i = (i + 1) & mask
		}
		st.table[i] = uint32(n + 1)
	}
}

// bytes is how much memory the states take.
func (st *store) bytes() int {
	return len(st.pages)*pageStates*(8*(st.masters+1)+4) + 4*len(st.table)
}
