package demo

import (
	"cmp"
	"fmt"
	"time"

	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

// The ranges of Options, and the values that the command uses by default.
const (
	MinBuyers     = 2
	MaxBuyers     = 100
	DefaultBuyers = 32

	MinStock     = 1
	MaxStock     = 10_000
	DefaultStock = 200

	MinTTL     = 20 * time.Millisecond
	MaxTTL     = time.Minute
	DefaultTTL = 5 * time.Second

	// Masters is how many masters a cluster of the demonstration's own has.
	Masters = 5
)

const (
	// sellers is how many clients share the buyers: as many programs would.
	sellers = 4
	// defaultReady is how long a quorum may take to be there at the start.
	defaultReady = 5 * time.Second
	// defaultRefusal is how long the first refusal may take, and the first sale
	// while there is a quorum.
	defaultRefusal = 10 * time.Second
	// defaultRecovery is how long the first sale may take once a quorum is
	// back; a client tries to reach a lost master about once a second.
	defaultRecovery = 15 * time.Second
	// outageWait is how long a buyer waits for a quorum before it is refused.
	outageWait = 250 * time.Millisecond
	// defaultWatch is how long each state of the masters is looked at.
	defaultWatch = 1500 * time.Millisecond
	// defaultPatience is how long a person has to stop or start a master.
	defaultPatience = time.Minute
)

// Options say how the demonstration runs. Buyers, Stock and TTL are required.
type Options struct {
	Buyers int           // MinBuyers to MaxBuyers
	Stock  int           // pieces to sell, MinStock to MaxStock
	TTL    time.Duration // of the lock, MinTTL to MaxTTL
	MaxTTL time.Duration // of any lock on the masters; 0: TTL, or a minute on masters that it does not own
	Seed   uint64        // of the buyers' haste; scheduling stays random

	// Screen is what a person sees; nil: nothing.
	Screen *Screen
	// Person says that somebody is there to stop masters that the
	// demonstration does not own. Each receive from Skip, which may be nil,
	// ends such a wait; nobody receives at other times.
	Person bool
	Skip   <-chan struct{}

	// Version is what the result calls this program.
	Version string

	// Open makes a client; nil: redlock.Open.
	Open func(urls []string, opts ...redlock.Option) (Client, error)

	// Watch is how long each state of the masters is looked at, 1.5 s by
	// default; Patience is how long a person has to change it, 1 minute by
	// default.
	Watch, Patience time.Duration

	// What tests shorten, and what stands between the buyers in the first phase.
	ready, refusal, recovery time.Duration
	unguarded                guard
	// guardOf lets a program's buyers at the stock; nil: the program's lock.
	guardOf func(p *program) guard
	// trusting are clients that count masters right after a restart.
	trusting bool
}

func (o *Options) validate() error {
	if o.Buyers < MinBuyers || o.Buyers > MaxBuyers {
		return &InputError{fmt.Errorf("%d buyers: want %d to %d", o.Buyers, MinBuyers, MaxBuyers)}
	}
	if o.Stock < MinStock || o.Stock > MaxStock {
		return &InputError{fmt.Errorf("a stock of %d: want %d to %d", o.Stock, MinStock, MaxStock)}
	}
	if o.TTL < MinTTL || o.TTL > MaxTTL { // package redlock asks for more than that
		return &InputError{fmt.Errorf("a TTL of %v: want %v to %v", o.TTL, MinTTL, MaxTTL)}
	}
	if o.MaxTTL != 0 && o.MaxTTL < o.TTL {
		return &InputError{fmt.Errorf("a longest TTL of %v: want 0, or the TTL of %v at least", o.MaxTTL, o.TTL)}
	}
	return nil
}

func (o *Options) setDefaults() {
	o.Watch, o.Patience = cmp.Or(o.Watch, defaultWatch), cmp.Or(o.Patience, defaultPatience)
	o.ready, o.refusal, o.recovery = cmp.Or(o.ready, defaultReady), cmp.Or(o.refusal, defaultRefusal), cmp.Or(o.recovery, defaultRecovery)
	if o.Screen == nil {
		o.Screen = Silent()
	}
	if o.Open == nil {
		o.Open = openClient
	}
	if o.guardOf == nil {
		o.guardOf = func(p *program) guard { return p.sell }
	}
	if o.unguarded == nil {
		o.unguarded = noGuard
	}
}

func openClient(urls []string, opts ...redlock.Option) (Client, error) {
	c, err := redlock.Open(urls, opts...)
	if err != nil {
		return nil, err // not a Client that holds a nil pointer
	}
	return c, nil
}

// clientOptions are those of the n-th client, counted from 1.
func (o *Options) clientOptions(n int) []redlock.Option {
	level := redlock.GuardStandard
	if o.trusting {
		level = redlock.GuardOff
	}
	return []redlock.Option{
		redlock.WithGuard(level),
		redlock.WithTTL(o.TTL),
		redlock.WithMaxTTL(o.MaxTTL),
		redlock.WithOutageWait(outageWait),
		redlock.WithOwner(fmt.Sprintf("seller-%d", n)),
		redlock.WithPool(pool.WithClientName("redlock-demo")),
	}
}
