package demo

import (
	"cmp"
	"time"

	"github.com/redquorum/redquorum/cmd/internal/stage"
)

// The range of the TTL, and the values that the command uses.
const (
	DefaultBuyers = 32
	DefaultStock  = 200

	MinTTL     = 20 * time.Millisecond
	DefaultTTL = 5 * time.Second
)

const (
	// defaultRefusal is how long the first refusal may take, and the first sale
	// while there is a quorum.
	defaultRefusal = 10 * time.Second
	// defaultRecovery is how long the first sale may take once a quorum is
	// back; a client tries to reach a lost master about once a second.
	defaultRecovery = 15 * time.Second
	// defaultWatch is how long each state of the masters is looked at.
	defaultWatch = 1500 * time.Millisecond
	// defaultPatience is how long a person has to stop or start a master.
	defaultPatience = time.Minute
)

// Options say how the demonstration runs.
type Options struct {
	Masters stage.Options
	Buyers  int // at least 2
	Stock   int // pieces to sell

	// Screen is what a person sees; nil: nothing.
	Screen *Screen
	// Person says that somebody is there to stop masters that the
	// demonstration does not own. Each receive from Skip, which may be nil,
	// ends such a wait; nobody receives at other times.
	Person bool
	Skip   <-chan struct{}

	// Version is what the result calls this program.
	Version string

	// What tests shorten, and what stands between the buyers in the first phase. watch is how long each state of the
	// masters is looked at, patience how long a person has to change it.
	watch, patience, ready, refusal, recovery time.Duration
	unguarded                                 stage.Guard
}

func (o *Options) setDefaults() {
	o.watch, o.patience = cmp.Or(o.watch, defaultWatch), cmp.Or(o.patience, defaultPatience)
	o.refusal, o.recovery = cmp.Or(o.refusal, defaultRefusal), cmp.Or(o.recovery, defaultRecovery)
	if o.Screen == nil {
		o.Screen = Silent()
	}
	if o.unguarded == nil {
		o.unguarded = stage.Unguarded
	}
}
