// Package searchtest has what the tests of every model need.
package searchtest

import (
	"math/rand/v2"
	"testing"

	"github.com/redquorum/redquorum/verification/search"
)

// Permutations checks that a state and what permuted makes of it count as the same state. It
// takes states that random steps lead to.
func Permutations[S comparable, A interface{ IsTick() bool }](
	t *testing.T, x search.Model[S, A], rng *rand.Rand, permuted func(*S) S,
) {
	t.Helper()
	for range 2000 {
		var s S
		for range rng.IntN(40) {
			var next []S
			x.Steps(&s, func(n S, _ A) { next = append(next, n) })
			if len(next) == 0 {
				break
			}
			s = next[rng.IntN(len(next))]
		}
		other := permuted(&s)
		canonical := x.Canonical(&s)
		if canonical != x.Canonical(&other) {
			t.Fatalf("a permutation is another state:\n%+v\n%+v", s, other)
		}
		if x.Canonical(&canonical) != canonical {
			t.Fatalf("the canonical form of a canonical state differs: %+v", s)
		}
		if x.Violated(&s) != x.Violated(&other) {
			t.Fatalf("a permutation is judged otherwise: %+v", s)
		}
	}
}
