package chance_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/redquorum/redquorum/internal/chance"
)

func TestChoicesOfOnePurposeDoNotDependOnOthers(t *testing.T) {
	a, b := chance.Seeded(7), chance.Seeded(7)
	for range 100 {
		b.N("other", time.Second)
	}
	for range 100 {
		if x, y := a.N("pause", time.Second), b.N("pause", time.Second); x != y {
			t.Fatalf("%v and %v of one seed", x, y)
		}
	}
}

func TestSeedsDiffer(t *testing.T) {
	var a, b [32]byte
	chance.Seeded(1).Read("token", a[:])
	chance.Seeded(2).Read("token", b[:])
	if bytes.Equal(a[:], b[:]) {
		t.Error("two seeds make the same bytes")
	}
}

func TestWithoutASeedNothingRepeats(t *testing.T) {
	var s *chance.Source
	var a, b [16]byte
	s.Read("token", a[:])
	s.Read("token", b[:])
	if bytes.Equal(a[:], b[:]) {
		t.Error("the same bytes twice")
	}
	if d := s.N("pause", time.Millisecond); d < 0 || d >= time.Millisecond {
		t.Errorf("%v is not in [0, 1ms)", d)
	}
}

func TestShuffleKeepsAll(t *testing.T) {
	for _, s := range []*chance.Source{nil, chance.Seeded(3)} {
		order := []int{0, 1, 2, 3, 4, 5, 6, 7}
		s.Shuffle("order", len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		sum := 0
		for _, n := range order {
			sum += 1 << n
		}
		if sum != 255 {
			t.Errorf("shuffled to %v", order)
		}
	}
}
