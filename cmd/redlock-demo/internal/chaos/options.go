package chaos

import (
	"fmt"
	"net"
	"time"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/demo"
	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

// The ranges of Options, and the values that the command uses by default.
const (
	MinTTL     = 200 * time.Millisecond
	MaxTTL     = time.Minute
	DefaultTTL = 2 * time.Second

	MinContenders     = 2
	MaxContenders     = 64
	DefaultContenders = 4

	MinHold     = time.Millisecond
	MaxHold     = time.Hour
	DefaultHold = 400 * time.Millisecond

	MinDuration = time.Second
	MaxDuration = 24 * time.Hour
)

// outageWait is how long a contender waits for a quorum before it is refused.
const outageWait = 250 * time.Millisecond

// Options say what happens in a run.
type Options struct {
	// Cluster is the masters. Faults are done to a demo.Breaker alone; others are
	// watched.
	Cluster    demo.Cluster
	Pool       []pool.Option // how masters are reached that others run
	TTL        time.Duration // of the lock
	MaxTTL     time.Duration // for so long a master that may have forgotten locks abstains; 0: TTL, or the library's for masters that others run
	Hold       time.Duration // about how long it is held; half to one and a half times
	Contenders int
	Duration   time.Duration // 0: until Stop, the script's end or the context's
	Script     []Fault
	Client     []redlock.Option // further ones, of all clients
	Fencing    bool

	// Told is called with every event, one at a time; it must not block for
	// long. nil: nobody is told.
	Told func(Event)
	// Trace is told what the clients do; nil: nobody is.
	Trace *redlock.Trace
	// Crash is called before a panic of a contender ends the process; nil: nothing
	// is.
	Crash func()
	// Dial replaces net.Dialer to masters of our own, for tests.
	Dial dialFunc
}

func (o *Options) setDefaults() {
	if o.Told == nil {
		o.Told = func(Event) {}
	}
	if _, own := o.Cluster.(demo.Breaker); own && o.MaxTTL == 0 {
		o.MaxTTL = o.TTL // a fleet of its own: what was emptied is back soon
	}
	if o.Crash == nil {
		o.Crash = func() {}
	}
	if o.Dial == nil {
		o.Dial = (&net.Dialer{}).DialContext
	}
}

// poolOptions are those of every connection. n is nil for masters that others run.
func (o *Options) poolOptions(n *network) []pool.Option {
	opts := append([]pool.Option{pool.WithClientName("redlock-demo-chaos")}, o.Pool...)
	if n != nil {
		opts = append(opts, pool.WithDialer(n.dialer))
	}
	return opts
}

// clientOptions are those of a client that its owner calls so.
func (o *Options) clientOptions(owner string, n *network) []redlock.Option {
	opts := []redlock.Option{
		redlock.WithTTL(o.TTL),
		redlock.WithOutageWait(outageWait),
		redlock.WithOwner(owner),
		redlock.WithPool(o.poolOptions(n)...),
	}
	if o.MaxTTL != 0 {
		opts = append(opts, redlock.WithMaxTTL(o.MaxTTL))
	}
	if o.Fencing {
		opts = append(opts, redlock.WithFencing())
	}
	if o.Trace != nil {
		opts = append(opts, redlock.WithTrace(o.Trace))
	}
	return append(opts, o.Client...)
}

func contenderName(n int) string { return fmt.Sprintf("contender-%d", n+1) }
