package redlock_test

import (
	"context"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redquorum/redquorum/internal/simmaster"
	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

// away is how long a request takes to a master of inFarSim; replies and messages take no time.
const away = 5 * time.Millisecond

// A farConn delays what is written. Write does not wait, because locks may be held there.
type farConn struct {
	net.Conn
	away func() time.Duration // delay of what is written now
	sent chan parcel
	done chan struct{} // closed by Close
	once sync.Once

	resets atomic.Bool // Close drops what is under way
}

// A parcel is under way until it is due.
type parcel struct {
	due   time.Time
	bytes []byte
}

func newFarConn(conn net.Conn, away func() time.Duration) *farConn {
	c := &farConn{Conn: conn, away: away, sent: make(chan parcel, 100), done: make(chan struct{})}
	go c.deliver()
	return c
}

func (c *farConn) deliver() {
	for {
		select {
		case p := <-c.sent:
			if left := time.Until(p.due); left > 0 { // no timer that has expired: golang/go#78156
				select {
				case <-time.After(left):
				case <-c.done:
					c.leave(p)
					return
				}
			}
			_, _ = c.Conn.Write(p.bytes)
		case <-c.done:
			c.leave(parcel{})
			return
		}
	}
}

// leave delivers what was sent before Close, as the kernel does.
func (c *farConn) leave(p parcel) {
	defer func() { _ = c.Conn.Close() }()
	for more := true; more && !c.resets.Load(); {
		time.Sleep(time.Until(p.due))
		_, _ = c.Conn.Write(p.bytes)
		select {
		case p = <-c.sent:
		default:
			more = false
		}
	}
}

// SetLinger is a method of TCP connections: with 0 Close resets.
func (c *farConn) SetLinger(seconds int) error {
	c.resets.Store(seconds == 0)
	return nil
}

// Read ends with Close.
func (c *farConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	select {
	case <-c.done:
		return 0, net.ErrClosed
	default:
		return n, err
	}
}

func (c *farConn) Write(b []byte) (int, error) {
	select {
	case c.sent <- parcel{time.Now().Add(c.away()), slices.Clone(b)}:
		return len(b), nil
	case <-c.done:
		return 0, net.ErrClosed
	}
}

func (c *farConn) Close() error {
	c.once.Do(func() { close(c.done) })
	if c.resets.Load() {
		return c.Conn.Close()
	}
	return c.Conn.SetReadDeadline(time.Unix(1, 0))
}

// inFarSim is inSim with masters that are far away.
func inFarSim(t *testing.T, n int, test func(t *testing.T, s *sim)) {
	t.Helper()
	inSim(t, n, func(t *testing.T, s *sim) {
		s.placeAway(func(int) time.Duration { return away })
		test(t, s)
	})
}

// inUnguardedFarSim is inFarSim without the guard.
func inUnguardedFarSim(t *testing.T, n int, test func(t *testing.T, s *sim)) {
	t.Helper()
	inUnguardedSim(t, n, func(t *testing.T, s *sim) {
		s.placeAway(func(int) time.Duration { return away })
		test(t, s)
	})
}

// placeAway sets how far away the masters are from clients that are made from now on. away may
// change its result while they are open.
func (s *sim) placeAway(away func(i int) time.Duration) {
	dial := s.Dialer()
	s.opts = append(s.opts, redlock.WithPool(pool.WithDialer(func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(s.All, func(m *simmaster.Master) bool { return m.Addr() == addr })
		return newFarConn(conn, func() time.Duration { return away(i) }), nil
	})))
}

// openReady is open for masters that are far away.
func (s *sim) openReady(opts ...redlock.Option) *redlock.Client {
	s.T.Helper()
	c := s.open(opts...)
	if err := c.Ready(s.T.Context()); err != nil {
		s.T.Fatal(err)
	}
	return c
}

// queueReady is queue, but it returns once the client is in the queue and will not look at the
// pilot for another 30 ms: a client that is called while it looks notices that only after the look.
func (s *sim) queueReady(key string) *queuer {
	return s.ready(s.queue(s.openReady(), key))
}

// ready waits until a client is in that state.
func (s *sim) ready(q *queuer) *queuer {
	time.Sleep(time.Second) // subscribed, and in the queue
	looks := func() (n int) {
		for _, m := range s.All {
			n += m.Commands()["EVALSHA"]
		}
		return n
	}
	for before := looks(); looks() == before; {
		time.Sleep(time.Millisecond)
	}
	for before := -1; looks() != before; { // one look may follow another
		before = looks()
		time.Sleep(20 * time.Millisecond)
	}
	return q
}

// called makes a client wait for "key" until its pilot calls it, when the lock is released. The
// client has asked for the lock, and its request has not reached the masters yet.
func (s *sim) called() (q *queuer, pilot int, began time.Time) {
	s.T.Helper()
	held := mustLock(s.T, s.openReady(), "key")
	q = s.queueReady("key")
	pilot = s.pilot("key")
	began = time.Now()
	unlock(s.T, held)
	return q, pilot, began
}

// levels are clients whose locks are acquired by different scripts.
var levels = map[string][]redlock.Option{
	"plain":             nil,
	"fenced":            {redlock.WithFencing()},
	"strict":            {redlock.WithStrict()},
	"strict and fenced": {redlock.WithStrict(), redlock.WithFencing()},
}

// handOvers are a holder of "a" that releases its first lock, and a kind of lock that waits.
var handOvers = map[string]struct {
	hold func(s *sim, c *redlock.Client) []*redlock.Lock
	wait kind
}{
	"one to one":   {holdA, one},
	"one to a set": {holdA, all},
	"set to one":   {kindsOfHolders["set"], one},
	"set to set":   {kindsOfHolders["set"], all},
}

func holdA(s *sim, c *redlock.Client) []*redlock.Lock {
	return []*redlock.Lock{mustLock(s.T, c, "a")}
}

func TestAHandOverTakesTwoRoundTrips(t *testing.T) {
	for level, opts := range levels {
		for name, handOver := range handOvers {
			t.Run(level+", "+name, func(t *testing.T) {
				inFarSim(t, 5, func(t *testing.T, s *sim) {
					s.opts, s.T = append(s.opts, opts...), t
					held := handOver.hold(s, s.openReady())
					q := s.ready(handOver.wait.waits(s, s.openReady()))
					began := time.Now()
					unlock(t, held[0])
					<-q.done
					if took := time.Since(began); q.err != nil || took != 2*away {
						t.Fatalf("handed over in %v (%v), want two round trips of %v", took, q.err, away)
					}
					if held[0].Fence() != 0 && (q.lock.Fence() <= held[0].Fence() || q.c.Stats().FencingRaises != 0) {
						t.Errorf("token %d after %d, %d second rounds", q.lock.Fence(), held[0].Fence(), q.c.Stats().FencingRaises)
					}
					for _, l := range append(held[1:], q.lock) {
						unlock(t, l)
					}
					time.Sleep(time.Second)
					s.wantNoLocks()
				})
			})
		}
	}
}

// maxRetry is the longest pause between looks at the pilot.
const maxRetry = 300 * time.Millisecond

// The pilot's part is then sent whole, as the same script: the token is stored there too, and the
// client leaves the queue.
func TestAPilotWithoutItsScriptsTakesPartInTheHandOver(t *testing.T) {
	for level, opts := range levels {
		t.Run(level, func(t *testing.T) {
			inFarSim(t, 5, func(t *testing.T, s *sim) {
				s.opts = append(s.opts, opts...)
				q, pilot, began := s.called()
				s.Ask(pilot, "SCRIPT", "FLUSH")
				l := q.mustHave(t)
				if took := time.Since(began); took != 2*away {
					t.Errorf("took %v, want two round trips", took)
				}
				time.Sleep(2 * away)
				if got, _ := s.All[pilot].Get("key"); got != l.Token() {
					t.Errorf("the pilot has %q, want the token %q", got, l.Token())
				}
				if l.Fence() != 0 && s.fence(pilot, "key") != l.Fence() {
					t.Errorf("the pilot stores the fencing token %d, want %d", s.fence(pilot, "key"), l.Fence())
				}
				if n := len(s.queues("key")[pilot]); n != 0 {
					t.Errorf("%d entries in the queue, want none", n)
				}
				unlock(t, l)
				time.Sleep(time.Second)
				s.wantNoLocks()
			})
		})
	}
}
