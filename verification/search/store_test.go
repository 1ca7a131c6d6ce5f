package search

import "testing"

func TestStoreReturnsEachStateOnceWithItsParent(t *testing.T) {
	const n = 3 * pageStates
	st := newStore[[3]int]()
	numbered := func(i int) [3]int { return [3]int{i, i << 7, i % 5} }
	for i := range n {
		if !st.add(numbered(i), i/2) {
			t.Fatalf("state %d is taken for known", i)
		}
	}
	for i := range n {
		if st.add(numbered(i), 0) {
			t.Fatalf("state %d is taken for new", i)
		}
		if *st.state(i) != numbered(i) || st.parent(i) != i/2 {
			t.Fatalf("state %d comes back as %v with parent %d", i, *st.state(i), st.parent(i))
		}
	}
}
