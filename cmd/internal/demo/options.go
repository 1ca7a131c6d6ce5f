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
	// defaultWatch is how long each state of the masters is watched.
	defaultWatch = 1500 * time.Millisecond
	// morePatience is how long a person may do nothing, in addition to a quarantine.
	morePatience = 15 * time.Second
	// readyBound is how long connecting may take. If it takes more than a second, new masters may
	// not be recognized as new: they abstain for the longest TTL first.
	readyBound = 5 * time.Second
)

// Options say how the demonstration runs.
type Options struct {
	Cluster Cluster
	TTL     time.Duration // of the lock
	// MaxTTL is how long a master abstains that may have forgotten locks; 0: TTL, or the
	// library's default for masters that others run.
	MaxTTL time.Duration
	Buyers int // at least 2
	Stock  int // pieces to sell

	// Screen shows the run to a person; nil: nothing is shown.
	Screen *Screen
	// Person says that somebody can stop masters that the demonstration does not own. Each
	// receive from Skip, which may be nil, ends a wait for that person. There are no receives
	// at other times.
	Person bool
	Skip   <-chan struct{}

	// Version is what the result calls this program.
	Version string

	// Tests shorten the durations. watch is how long each state of the masters is watched, patience
	// how long a person may leave it unchanged. unguarded is the lockFunc of the first phase.
	watch, patience, ready, refusal, recovery time.Duration
	unguarded                                 lockFunc
	client                                    []redlock.Option // further options of all clients
	open                                      func(urls []string, opts ...redlock.Option) (Client, error)
}

// own reports whether the masters are our own, so that we may kill them.
func (o *Options) own() bool { return o.Cluster.Servers != nil }

func (o *Options) setDefaults() {
	if o.own() && o.MaxTTL == 0 {
		o.MaxTTL = o.TTL // its own fleet: a master without its data votes again soon
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
