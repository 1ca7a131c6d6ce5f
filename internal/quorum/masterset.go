package quorum

import "math/bits"

// Most is how many masters there may be.
const Most = 64

// MasterSet is a set of masters. Masters are numbered from 0.
type MasterSet uint64

// All returns the set of the first n masters.
func All(n int) MasterSet { return 1<<n - 1 }

// Has reports whether a master is in the set.
func (b MasterSet) Has(master int) bool { return b&(1<<master) != 0 }

// Len returns how many masters are in the set.
func (b MasterSet) Len() int { return bits.OnesCount64(uint64(b)) }

// Add adds a master.
func (b *MasterSet) Add(master int) { *b |= 1 << master }

// Remove removes a master.
func (b *MasterSet) Remove(master int) { *b &^= 1 << master }
