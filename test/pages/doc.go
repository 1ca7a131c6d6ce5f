// Package pages compiles the Go code of the documentation. It is a module of its own,
// since the pages show what needs more than the library does.
package pages

import (
	// What the pages' code may import without saying so: the test compiles against it.
	_ "github.com/prometheus/client_golang/prometheus"

	_ "github.com/redquorum/redquorum/contrib/otel"
	_ "github.com/redquorum/redquorum/contrib/prometheus"
	_ "github.com/redquorum/redquorum/contrib/redsync"
	_ "github.com/redquorum/redquorum/redlock/redlocktest"
)
