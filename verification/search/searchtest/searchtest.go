// Package searchtest has what the tests of every model need.
package searchtest

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/redquorum/redquorum/verification/search"
)

// Permutations checks, on states that some steps at random lead to, that what permuted returns
// of a state counts as the same state.
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

// Trace checks that a configuration violates a property after so many steps, and what the
// trace says.
func Trace(t *testing.T, c search.Config, steps int, wants ...string) {
	t.Helper()
	r, err := c.Explore(0)
	if err != nil || r.Trace == nil {
		t.Fatalf("no violation: %v, %v", r, err)
	}
	var b strings.Builder
	r.Trace.Print(&b)
	for _, want := range wants {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in the trace:\n%s", want, b.String())
		}
	}
	if n := len(r.Trace.Steps) - 1; n != r.Depth || n != steps {
		t.Errorf("the trace has %d steps and the exploration a depth of %d: want %d", n, r.Depth, steps)
	}
}
