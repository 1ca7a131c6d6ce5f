package demo

import (
	"cmp"
	"time"

	"github.com/redquorum/redquorum/cmd/internal/observe"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/redlock"
)

// The range of the TTL, and the values that the command uses.
const (
	DefaultBuyers = 32
	DefaultStock  = 200

	MinTTL     = 20 * time.Millisecond
	maxTTL     = time.Minute
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
	// morePatience is for how long, beside a quarantine, a person may do nothing.
	morePatience = 15 * time.Second
	// readyBound is how long connecting may take. Where it takes more than a second, masters that are new may not be
	// taken for that, and abstain for the longest TTL first.
	readyBound = 5 * time.Second
)

// Options say how the demonstration runs.
type Options struct {
	Cluster Cluster
	TTL     time.Duration // of the lock
	// MaxTTL is for how long a master that may have forgotten locks abstains; 0: TTL, or the
	// library's for masters that others run.
	MaxTTL time.Duration
	Buyers int // at least 2
	Stock  int // pieces to sell

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
	// masters is looked at, patience for how long a person may not change it.
	watch, patience, ready, refusal, recovery time.Duration
	unguarded                                 lockFunc
	client                                    []redlock.Option // further ones, of all clients
	open                                      func(urls []string, opts ...redlock.Option) (Client, error)
}

// own reports whether the masters are ours to break.
func (o *Options) own() bool { return o.Cluster.Servers != nil }

func (o *Options) setDefaults() {
	if o.own() && o.MaxTTL == 0 {
		o.MaxTTL = o.TTL // a fleet of its own: what was emptied is back soon
	}
	if o.ready == 0 {
		if o.ready = readyBound; o.own() {
			o.ready += o.MaxTTL
		}
	}
	quarantine := observe.ConfigOf(guard.Config{}, len(o.Cluster.URLs), o.MaxTTL, 0).Quarantine()
	o.watch, o.patience = cmp.Or(o.watch, defaultWatch), cmp.Or(o.patience, quarantine+morePatience)
	o.refusal, o.recovery = cmp.Or(o.refusal, defaultRefusal), cmp.Or(o.recovery, defaultRecovery)
	if o.Screen == nil {
		o.Screen = Silent()
	}
	if o.unguarded == nil {
		o.unguarded = unguarded
	}
	if o.open == nil {
		o.open = open
	}
}
