// Package seam gives this module what users cannot reach. The simulation makes a client
// deterministic, and package redlock takes the connections of a pool.Pool, whose own methods
// show public types only. Packages pool and redlock set the functions when they are loaded.
package seam

import "github.com/redquorum/redquorum/internal/chance"

// Hooks replace what would make two runs of a simulation differ.
type Hooks struct {
	// ID is the client's id, instead of a new xid.
	ID string
	// Chance makes its random choices; nil: Go's own generators.
	Chance *chance.Source
	// Yield is called by the writer of the connection to a master when its queue is no
	// longer empty, to let more calls come for one flush. master is its number in the
	// list. nil: runtime.Gosched.
	Yield func(master int)
}

// Client returns the redlock.Option that installs hooks, and Pool the pool.Option.
var (
	Client func(Hooks) any
	Pool   func(Hooks) any
)
