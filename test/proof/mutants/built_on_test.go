//go:build mutants

package mutants

// built says whether the library is the one with mistakes.
const built = true
