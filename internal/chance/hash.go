package chance

// HashText is FNV-1a, 64 bits. It allocates nothing, unlike hash/fnv. It never
// changes: the pilots of all clients depend on it (docs/explanation/waiting.md). It does not
// protect against keys that were chosen to collide.
func HashText(s string) uint64 {
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
