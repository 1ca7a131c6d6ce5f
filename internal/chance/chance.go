// Package chance makes the random choices of the library: pauses, orders, tokens. They
// come from Go's generators. A simulation gives each client a seed instead, so that a
// run can be repeated exactly. The hash functions are for choices that all clients have to
// make in the same way.
package chance

import (
	crand "crypto/rand"
	"encoding/binary"
	"math/rand/v2"
	"sync"
	"time"
)

// A Source makes random choices. The nil Source is what every program uses: it
// asks Go's own generators. It is safe for concurrent use.
type Source struct {
	seed uint64

	mu    sync.Mutex // guards drawn; nothing else is locked under it
	drawn map[string]uint64
}

// Seeded returns a Source whose choices follow from the seed. The choices for one purpose do not
// depend on those for others. So goroutines get the same choices when they run in another order.
func Seeded(seed uint64) *Source {
	return &Source{seed: seed, drawn: make(map[string]uint64)}
}

// next returns the next 64 bits of the stream of a purpose.
func (s *Source) next(purpose string) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.drawn[purpose]
	s.drawn[purpose] = n + 1
	return Hash(s.seed, HashText(purpose), n)
}

// N returns a random duration in [0, n); n must be positive.
func (s *Source) N(purpose string, n time.Duration) time.Duration {
	if s == nil {
		return rand.N(n)
	}
	return time.Duration(s.next(purpose) % uint64(n))
}

// Shuffle puts n elements into a random order.
func (s *Source) Shuffle(purpose string, n int, swap func(i, j int)) {
	if s == nil {
		rand.Shuffle(n, swap)
		return
	}
	for i := n - 1; i > 0; i-- {
		swap(i, int(s.next(purpose)%uint64(i+1)))
	}
}

// Read fills p. The nil Source reads from the kernel.
func (s *Source) Read(purpose string, p []byte) {
	if s == nil {
		_, _ = crand.Read(p) // never fails (crypto/rand)
		return
	}
	for len(p) > 0 {
		var b [8]byte
		binary.BigEndian.PutUint64(b[:], s.next(purpose))
		p = p[copy(p, b[:]):]
	}
}

// Hash mixes numbers into one: each step is the finalizer of SplitMix64.
func Hash(parts ...uint64) uint64 {
	h := uint64(0x9e3779b97f4a7c15)
	for _, p := range parts {
		h = Mix(h^p) + 0x9e3779b97f4a7c15
	}
	return h
}
