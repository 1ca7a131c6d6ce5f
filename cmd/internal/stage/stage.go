// Package stage is where contenders compete for a lock while its masters break: the masters, what is done to them, the
// contenders, and a referee that sees all of them.
package stage

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/rs/xid"

	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

// The range of a TTL, but for the least one.
const MaxTTL = time.Minute

const (
	// outageWait is how long a contender waits for a quorum before it is refused.
	outageWait = 250 * time.Millisecond
	// readyBound is how long connecting may take. Where it takes more than a second, masters that are new may not be
	// taken for that, and abstain for the longest TTL first.
	readyBound = 5 * time.Second
)

// Options say on which masters the lock lives, and how clients take it.
type Options struct {
	Cluster Cluster
	Program string           // what the masters call the clients
	Pool    []pool.Option    // how masters are reached that others run
	TTL     time.Duration    // of the lock
	MaxTTL  time.Duration    // for so long a master that may have forgotten locks abstains; 0: TTL, or the library's for masters that others run
	Client  []redlock.Option // further ones, of all clients

	// Dial replaces net.Dialer to masters of our own, and Open redlock.Open, for tests.
	Dial DialFunc
	Open func(urls []string, opts ...redlock.Option) (Client, error)
}

// A Client is what is used of *redlock.Client.
type Client interface {
	Do(ctx context.Context, key string, fn func(ctx context.Context) error, opts ...redlock.LockOption) error
	TryLock(ctx context.Context, key string, opts ...redlock.LockOption) (*redlock.Lock, error)
	Inspect(ctx context.Context, key string) (*redlock.Inspection, error)
	Masters(ctx context.Context) []redlock.MasterReport
	Ready(ctx context.Context) error
	Close() error
}

// Open opens real clients.
func Open(urls []string, opts ...redlock.Option) (Client, error) {
	c, err := redlock.Open(urls, opts...)
	if err != nil {
		return nil, err // not a Client that holds a nil pointer
	}
	return c, nil
}

// A Stage is masters, clients of them, and what has been done to the masters.
type Stage struct {
	Options
	Key     string
	URLs    []string
	Quorum  int
	Clients []Client

	network *network // nil: others run the masters

	mu         sync.Mutex // guards what follows
	conditions []Condition
}

// New opens a client for each owner. The key's name begins with prefix. The caller must Close the stage; the error is one
// of the library about the options.
func New(o Options, prefix string, owners ...string) (*Stage, error) {
	if o.Dial == nil {
		o.Dial = (&net.Dialer{}).DialContext
	}
	if o.Open == nil {
		o.Open = Open
	}
	urls := o.Cluster.URLs
	s := &Stage{
		Options: o, Key: prefix + xid.New().String(), URLs: urls, Quorum: quorum.Need(len(urls)),
		conditions: make([]Condition, len(urls)),
	}
	if s.Own() {
		s.network = newNetwork(o.Dial, urls)
		if o.MaxTTL == 0 {
			s.MaxTTL = o.TTL // a fleet of its own: what was emptied is back soon
		}
	}
	for _, owner := range owners {
		c, err := s.OpenClient(owner)
		if err != nil {
			s.Close()
			return nil, err
		}
		s.Clients = append(s.Clients, c)
	}
	return s, nil
}

// OpenClient opens one more client, which the caller must close. What opts say counts more than the stage's options.
func (s *Stage) OpenClient(owner string, opts ...redlock.Option) (Client, error) {
	all := []redlock.Option{
		redlock.WithTTL(s.TTL), redlock.WithOutageWait(outageWait), redlock.WithOwner(owner), redlock.WithPool(s.PoolOptions()...),
	}
	if s.MaxTTL != 0 {
		all = append(all, redlock.WithMaxTTL(s.MaxTTL))
	}
	return s.Open(s.URLs, append(append(all, s.Client...), opts...)...)
}

// PoolOptions are those of every connection.
func (s *Stage) PoolOptions() []pool.Option {
	opts := append([]pool.Option{pool.WithClientName(s.Program)}, s.Pool...)
	if s.network != nil {
		opts = append(opts, pool.WithDialer(s.network.dialer))
	}
	return opts
}

// Own reports whether the masters are ours to break.
func (s *Stage) Own() bool { return s.Cluster.Masters != nil }

// ReadyBound is how long a quorum may take to be there at the start.
func (s *Stage) ReadyBound() time.Duration {
	if s.Own() {
		return readyBound + s.MaxTTL
	}
	return readyBound
}

// Ready waits for every client to have a quorum, at most for bound.
func (s *Stage) Ready(ctx context.Context, bound time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	for _, c := range s.Clients {
		if err := c.Ready(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Close lets masters go that are frozen or cut off, so that they hear of the releases, and closes the clients.
func (s *Stage) Close() {
	var wg sync.WaitGroup
	for n := range s.conditions {
		if s.Own() {
			wg.Go(func() { s.letGo(n) })
		}
	}
	wg.Wait()
	s.CloseClients()
}

// CloseClients may be called more than once.
func (s *Stage) CloseClients() {
	var wg sync.WaitGroup
	for _, c := range s.Clients {
		wg.Go(func() { _ = c.Close() }) // its only error is that of a pool, which has none
	}
	wg.Wait()
}

// letGo undoes what holds a master of ours up.
func (s *Stage) letGo(n int) {
	s.network.links[n].heal()
	if s.Condition(n).Frozen {
		_ = s.Cluster.Masters[n].Thaw() // it may have died meanwhile, and is closed soon anyway
	}
}
