package redlock_test

import (
	"context"
	"errors"
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

// away is how long a request takes to a master of inFarSim; replies and messages
// take no time.
const away = 5 * time.Millisecond

// A farConn is away. Write does not wait: locks may be held there.
type farConn struct {
	net.Conn
	away func() time.Duration // of what is written now
	sent chan parcel
	done chan struct{} // closed by Close
	once sync.Once

	resets atomic.Bool // Close loses what is on its way
}

// A parcel is on its way until it is due.
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

// SetLinger is a TCP connection's: with 0 Close resets.
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

// inFarSim is inSim with masters that are away.
func inFarSim(t *testing.T, n int, test func(t *testing.T, s *sim)) {
	t.Helper()
	inSim(t, n, func(t *testing.T, s *sim) {
		s.placeAway(func(int) time.Duration { return away })
		test(t, s)
	})
}

// placeAway has the masters be so far away from clients that are made from now on.
// It may change while they are open.
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

// openReady is open for masters that are away.
func (s *sim) openReady() *redlock.Client {
	s.T.Helper()
	c := s.open()
	if err := c.Ready(s.T.Context()); err != nil {
		s.T.Fatal(err)
	}
	return c
}

// queueReady is queue, and returns once the client has its place, and will not
// look at the pilot for another 30 ms: who is called while it looks hears of it
// when it has looked.
func (s *sim) queueReady(key string) *queuer {
	return s.ready(s.queue(s.openReady(), key))
}

// ready waits until a client is so.
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

// called has a client wait for "key" and then be called by its pilot, when the
// lock is released: it asks, and the masters have not got its question yet.
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

// handOvers are a holder of "a", whose first lock is given back, and who waits for that.
var handOvers = map[string]struct {
	hold func(s *sim, c *redlock.Client) []*redlock.Lock
	wait sort
}{
	"one to one":    {holdA, one},
	"one to a set":  {holdA, all},
	"set to one":    {sortsOfHolders["set"], one},
	"set to set":    {sortsOfHolders["set"], all},
	"slot to slot":  {sortsOfHolders["slots"], slot},
	"set to a slot": {sortsOfHolders["set"], slot},
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

// Between the call and the answer to it others may come first: the vote of one
// that stands alone does not matter, and with a majority the waiter waits on.
func TestWhoWasCalledAndIsOvertakenKeepsItsPlace(t *testing.T) {
	for _, test := range []struct {
		name     string
		overtake func(s *sim, pilot int)
		granted  bool
	}{
		{"at the pilot", func(s *sim, pilot int) { _ = s.All[pilot].Set("key", "other", 2*time.Second) }, true},
		{"at the others", func(s *sim, pilot int) {
			for i, m := range s.All {
				if i != pilot {
					_ = m.Set("key", "other", 2*time.Second)
				}
			}
		}, false},
		{"everywhere", func(s *sim, _ int) {
			for _, m := range s.All {
				_ = m.Set("key", "other", 2*time.Second)
			}
		}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			inFarSim(t, 5, func(t *testing.T, s *sim) {
				q, pilot, began := s.called()
				test.overtake(s, pilot)
				if test.granted {
					q.mustHave(t)
					if took := time.Since(began); took != 2*away {
						t.Errorf("took %v, want two round trips", took)
					}
				} else {
					time.Sleep(time.Second)
					if q.has() {
						t.Fatal("holds what another holds on a majority")
					}
					// While the pilot alone is free it is granted and rolled back there
					// again and again. Each grant takes it out of the queue for an
					// instant.
					if n := len(s.queues("key")[pilot]); n != 1 && test.name == "everywhere" {
						t.Errorf("%d entries in the queue, want its own", n)
					}
					q.mustHave(t)
					if took := time.Since(began); took < 2*time.Second || took > 2*time.Second+maxRetry {
						t.Errorf("took %v, want what is left of the other's key and a retry delay", took)
					}
				}
				unlock(t, q.lock)
				time.Sleep(3 * time.Second)
				s.wantClean()
			})
		})
	}
}

// What the pilot says of who overtook is in the error, also where nobody asks
// again before the wait ends.
func TestWhoWasCalledAndIsOvertakenKnowsByWhom(t *testing.T) {
	inFarSim(t, 1, func(t *testing.T, s *sim) {
		q, pilot, _ := s.called()
		_ = s.All[pilot].Set("key", "other", time.Minute)
		time.Sleep(3 * away) // answered
		q.cancel()
		<-q.done
		wantExactly(t, q.err, redlock.ErrTaken, context.Canceled)
		if h, ok := errors.AsType[*redlock.HeldError](q.err); !ok || h.Token != "other" || h.TTL <= 0 {
			t.Errorf("%v: want who holds it, and for how long", q.err)
		}
	})
}

// maxRetry is the longest pause between looks at the pilot.
const maxRetry = 300 * time.Millisecond

// The pilot calls, and is gone before it is asked: the others decide.
func TestWhoWasCalledByAPilotThatIsGoneAsksTheOthers(t *testing.T) {
	for _, how := range []string{"frozen", "killed", "without its scripts"} {
		t.Run(how, func(t *testing.T) {
			inFarSim(t, 5, func(t *testing.T, s *sim) {
				q, pilot, began := s.called()
				switch how {
				case "frozen":
					s.Freeze(pilot)
				case "killed":
					s.Kill(pilot)
				default:
					s.do("SCRIPT", "FLUSH")
				}
				q.mustHave(t)
				if took := time.Since(began); took != 2*away {
					t.Errorf("took %v, want two round trips", took)
				}
				if how == "frozen" {
					s.Thaw(pilot)
				}
				unlock(t, q.lock)
				if how == "killed" {
					s.Restart(true, pilot)
				}
				time.Sleep(time.Minute) // an entry that was left ends with its queue
				s.wantClean()
			})
		})
	}
}

// Its part is then sent whole: by the script that it was, so that the token is stored
// there too, and the place in the queue is given up.
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

// Whatever the clocks of the clients say, masters that have given the same token give the
// same one next.
func TestAHandOverToASlowClockTakesNoSecondRound(t *testing.T) {
	inFarSim(t, 5, func(t *testing.T, s *sim) {
		for _, off := range []time.Duration{-time.Hour, time.Hour, -time.Second} {
			held := mustLock(t, s.openReady(), "key", redlock.WithFencing())
			c := s.open(redlock.WithFencing(), redlock.WithClock(&skewedClock{off: off}))
			if err := c.Ready(t.Context()); err != nil {
				t.Fatal(err)
			}
			q := s.ready(s.queue(c, "key"))
			began := time.Now()
			unlock(t, held)
			l := q.mustHave(t)
			if took := time.Since(began); took != 2*away || c.Stats().FencingRaises != 0 || l.Fence() <= held.Fence() {
				t.Errorf("a clock that is off by %v: token %d after %d in %v, %d second rounds",
					off, l.Fence(), held.Fence(), took, c.Stats().FencingRaises)
			}
			unlock(t, l)
			time.Sleep(time.Second)
		}
		s.wantNoLocks()
	})
}

// In strict a pilot whose clock is off grants nothing, also in its own part.
func TestWhoWasCalledByAPilotWhoseClockIsOffAsksTheOthers(t *testing.T) {
	for _, others := range []int{0, 2} {
		inFarSim(t, 5, func(t *testing.T, s *sim) {
			s.opts = append(s.opts, redlock.WithStrict())
			q, pilot, began := s.called()
			for i := range others + 1 {
				s.All[(pilot+i)%5].SetClockOffset(time.Minute)
			}
			if others > 0 {
				time.Sleep(time.Second)
				if q.has() {
					t.Fatal("holds by the votes of masters whose clocks are off")
				}
				q.cancel()
				<-q.done
				return
			}
			l := q.mustHave(t)
			if took := time.Since(began); took != 2*away {
				t.Errorf("took %v, want two round trips", took)
			}
			time.Sleep(2 * away)
			if got, ok := s.All[pilot].Get("key"); ok {
				t.Errorf("the pilot has granted %q", got)
			}
			unlock(t, l)
		})
	}
}
