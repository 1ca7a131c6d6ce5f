package search

import (
	"hash/maphash"
	"unsafe"
)

// A store keeps states and knows which states it has. They are numbered in the order of
// arrival; each has a parent, the state it was first reached from. A map would take several
// times as much memory.
type store[S comparable] struct {
	n       int
	seed    maphash.Seed
	pages   [][]S // of pageStates each
	parents [][]uint32
	table   []uint32 // open addressing: number + 1; 0: free
}

const pageStates = 1 << 16

func newStore[S comparable]() *store[S] {
	return &store[S]{seed: maphash.MakeSeed(), table: make([]uint32, 1<<16)}
}

// add stores a state under the next number, unless it is known.
func (st *store[S]) add(s S, parent int) (added bool) {
	if 3*st.n >= 2*len(st.table) {
		st.grow()
	}
	at := st.place(s)
	if st.table[at] != 0 {
		return false
	}
	if st.n%pageStates == 0 {
		st.pages = append(st.pages, make([]S, 0, pageStates))
		st.parents = append(st.parents, make([]uint32, 0, pageStates))
	}
	last := len(st.pages) - 1
	st.pages[last] = append(st.pages[last], s)
	st.parents[last] = append(st.parents[last], uint32(parent))
	st.n++
	st.table[at] = uint32(st.n)
	return true
}

// place is the position of a state in the table, or the free position for it.
func (st *store[S]) place(s S) uint64 {
	mask := uint64(len(st.table) - 1)
	i := maphash.Comparable(st.seed, s) & mask
	for st.table[i] != 0 && *st.state(int(st.table[i] - 1)) != s {
		i = (i + 1) & mask
	}
	return i
}

func (st *store[S]) state(i int) *S { return &st.pages[i/pageStates][i%pageStates] }

func (st *store[S]) parent(i int) int { return int(st.parents[i/pageStates][i%pageStates]) }

func (st *store[S]) grow() {
	st.table = make([]uint32, 2*len(st.table))
	for i := range st.n {
		st.table[st.place(*st.state(i))] = uint32(i + 1)
	}
}

func (st *store[S]) bytes() int {
	var s S
	return len(st.pages)*pageStates*int(unsafe.Sizeof(s)+4) + 4*len(st.table)
}
