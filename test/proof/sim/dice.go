package sim

import (
	"time"

	"github.com/redquorum/redquorum/internal/chance"
)

// dice are random numbers that depend on their purpose, not on how many were drawn before.
type dice struct {
	seed uint64
	n    uint64
}

func roll(seed uint64, about ...uint64) *dice {
	return &dice{seed: chance.Hash(append([]uint64{seed}, about...)...)}
}

func (d *dice) next() uint64 {
	d.n++
	return chance.Hash(d.seed, d.n)
}

// one reports true once in n times on average, and never if n is 0.
func (d *dice) one(n int) bool { return n > 0 && d.next()%uint64(n) == 0 }

// upTo is in [0, n).
func (d *dice) upTo(n int) int { return int(d.next() % uint64(n)) }

// between is in [least, most].
func (d *dice) between(least, most time.Duration) time.Duration {
	if most <= least {
		return least
	}
	return least + time.Duration(d.next()%uint64(most-least+1))
}

// pick chooses by weights.
func pick[T any](d *dice, choices []weighted[T]) T {
	total := 0
	for _, c := range choices {
		total += c.weight
	}
	n := d.upTo(total)
	for _, c := range choices {
		if n < c.weight {
			return c.value
		}
		n -= c.weight
	}
	panic("not reached")
}

type weighted[T any] struct {
	value  T
	weight int
}
