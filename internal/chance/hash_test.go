package chance

import (
	"hash/fnv"
	"testing"
)

// Clients of other versions choose with the same function.
func TestTextIsFNV1a(t *testing.T) {
	for _, s := range []string{"", "a", "key", "master-1:6379", "ключ", string(make([]byte, 1000))} {
		h := fnv.New64a()
		_, _ = h.Write([]byte(s))
		if got := HashText(s); got != h.Sum64() {
			t.Errorf("%q: %#x, want %#x", s, got, h.Sum64())
		}
	}
	sum := uint64(0)
	if n := testing.AllocsPerRun(100, func() { sum += HashText("key") }); n != 0 || sum == 0 {
		t.Errorf("%v allocations, sum %d", n, sum)
	}
}

// The first outputs of SplitMix64 with seed 0, as published with it.
func TestMixIsTheFinalizerOfSplitMix64(t *testing.T) {
	state := uint64(0)
	for i, want := range []uint64{0xe220a8397b1dcdaf, 0x6e789e6aa1b965f4, 0x06c45d188009454f} {
		state += 0x9e3779b97f4a7c15
		if got := Mix(state); got != want {
			t.Errorf("output %d: %#x, want %#x", i, got, want)
		}
	}
}
