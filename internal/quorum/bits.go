package quorum

import "math/bits"

// Most is how many masters there may be.
const Most = 64

// Bits is a set of masters. Masters are numbered from 0.
type Bits uint64

// All is the first n masters.
func All(n int) Bits { return 1<<n - 1 }

// Has reports whether a master is in the set.
func (b Bits) Has(master int) bool { return b&(1<<master) != 0 }

// Len is how many masters are in the set.
func (b Bits) Len() int { return bits.OnesCount64(uint64(b)) }

// Add adds a master.
func (b *Bits) Add(master int) { *b |= 1 << master }

// Remove removes a master.
func (b *Bits) Remove(master int) { *b &^= 1 << master }
