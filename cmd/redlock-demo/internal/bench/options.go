// Package bench measures what locking costs on masters that somebody else runs:
// pairs of lock and unlock, with keys of its own, of which it leaves nothing.
package bench

import (
	"time"

	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

// The ranges of Options, and the values that the command uses by default.
const (
	MinGoroutines     = 1
	MaxGoroutines     = 10_000
	DefaultGoroutines = 16

	MaxKeys = 1_000_000

	MinDuration     = 100 * time.Millisecond
	MaxDuration     = time.Hour
	DefaultDuration = 5 * time.Second

	MinTTL     = 20 * time.Millisecond
	MaxTTL     = 24 * time.Hour
	DefaultTTL = 10 * time.Second
)

// warmUp is how long each setting runs before anything counts.
const warmUp = 200 * time.Millisecond

// readyBound is how long a quorum may take to be there.
const readyBound = 5 * time.Second

// A Setting is one way of locking that is measured.
type Setting struct {
	Guard   string // how it is called: off, standard, strict or default
	Fencing bool
	Options []redlock.Option
}

// A Fleet is masters that are used together.
type Fleet struct {
	Name string // by which keys are spread over several
	URLs []string
}

// Options say what is measured.
type Options struct {
	Fleets     []Fleet // one, or several with names, in their order
	Pool       []pool.Option
	Goroutines int
	Keys       int // 0: one a goroutine, so that nobody waits
	Duration   time.Duration
	TTL        time.Duration
	Settings   []Setting
	// Progress is told how it goes, a few times a second; nil: nobody is.
	Progress func(Progress)
}

// Progress is how far a setting has come.
type Progress struct {
	Setting Setting
	Elapsed time.Duration
	Pairs   uint64 // so far, those of the warm-up included
}

// urls are those of all masters, fleet by fleet.
func (o *Options) urls() (all []string) {
	for _, f := range o.Fleets {
		all = append(all, f.URLs...)
	}
	return all
}

func (o *Options) keys() int {
	if o.Keys == 0 {
		return o.Goroutines
	}
	return o.Keys
}
