// Package hash has two hash functions. Choices that every client, or every run of the
// simulation, has to make in the same way depend on them.
//
// The functions never change: the pilots of all clients depend on them
// (docs/project/waiting.md). They do not protect against keys that somebody chose so
// that they collide.
package hash

// Text is FNV-1a, 64 bits. It allocates nothing, which hash/fnv does.
func Text(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

// Mix spreads what differs in few bits over all of them: the finalizer of SplitMix64.
func Mix(h uint64) uint64 {
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}
