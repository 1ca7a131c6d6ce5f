// Package doctor looks at masters and says what endangers locks on them. It
// changes nothing: what it asks writes no key.
package doctor
