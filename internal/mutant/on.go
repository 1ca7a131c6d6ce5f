//go:build mutants

package mutant

import "sync/atomic"

var current atomic.Uint32

// Is reports whether the library is to make the mistake.
func Is(id ID) bool { return ID(current.Load()) == id }

// Use switches a mistake on, for the whole process, and all others off.
func Use(id ID) { current.Store(uint32(id)) }
