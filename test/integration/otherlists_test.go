package integration

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

// These tests have clients with lists of different lengths, or with different MaxTTLs, on real
// servers. Each test has a holder. For longer than a quarantine of the new settings takes, it
// checks that nobody else is granted the lock.

// patiently is a timeout for a busy machine: with a shorter one holders would lose their locks.
var patiently = pool.WithCommandTimeout(300 * time.Millisecond)

// shared is the MaxTTL of lists that share masters. With a shorter one, holders on a busy machine
// would lose their locks without a fault.
const shared = 2 * time.Second

// of makes a client of these masters.
func (p *processes) of(level redlock.GuardLevel, maxTTL time.Duration, urls []string, opts ...redlock.Option) *redlock.Client {
	p.t.Helper()
	c, err := redlock.Open(urls, append([]redlock.Option{redlock.WithGuard(level), redlock.WithMaxTTL(maxTTL), redlock.WithTTL(maxTTL), redlock.WithPool(patiently)}, opts...)...)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = c.Close() })
	return c
}

// holds makes a client acquire the key, after its quarantine if need be.
func holds(t *testing.T, c *redlock.Client, opts ...redlock.LockOption) *redlock.Lock {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for {
		l, err := c.Lock(ctx, "key", opts...)
		if err == nil {
			return l
		}
		if !errors.Is(err, redlock.ErrNoQuorum) || ctx.Err() != nil {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// refusedFor tries to get the lock for d, and fails for each grant while the lock is held.
func refusedFor(t *testing.T, d time.Duration, l *redlock.Lock, c *redlock.Client) {
	t.Helper()
	tries, both := 0, 0
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		tries++
		other, err := c.TryLock(context.Background(), "key")
		if err != nil {
			continue
		}
		if l.Context().Err() == nil {
			both++
		}
		_ = other.Unlock(context.Background())
	}
	if both > 0 || tries < 10 || l.Context().Err() != nil {
		t.Errorf("two held it in %d of %d tries; the holder: %v", both, tries, context.Cause(l.Context()))
	}
	_ = l.Unlock(context.Background())
}

func TestListsOfDifferentLengthsDoNotBothHaveAQuorum(t *testing.T) {
	t.Parallel()
	for _, level := range levels {
		for name, n := range map[string][2]int{"one and three": {1, 3}, "three and seven": {3, 7}} {
			t.Run(string(level)+", "+name, func(t *testing.T) {
				t.Parallel()
				p := startProcesses(t, n[1])
				l := holds(t, p.of(level, shared, p.urls[:n[0]]))
				refusedFor(t, 5*time.Second, l, p.of(level, shared, p.urls))
			})
		}
	}
}

// The first master, on which the lock is, leaves the longer list's reach after it has answered
// once.
func TestListsOfDifferentLengthsDoNotBothHaveAQuorumWhereSomeMastersAreAway(t *testing.T) {
	t.Parallel()
	for _, level := range levels {
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			p := startProcesses(t, 3)
			l := holds(t, p.of(level, shared, p.urls[:1]))
			var away atomic.Bool
			var conns atomic.Pointer[net.Conn]
			c := p.of(level, shared, p.urls, redlock.WithPool(patiently, pool.WithDialer(func(ctx context.Context, network, addr string) (net.Conn, error) {
				if addr != p.servers[0].Addr() {
					return new(net.Dialer).DialContext(ctx, network, addr)
				}
				if away.Load() {
					return nil, errors.New("cut off")
				}
				conn, err := new(net.Dialer).DialContext(ctx, network, addr)
				if err == nil {
					conns.Store(&conn)
				}
				return conn, err
			})))
			awaitStanding(t, c, guard.OtherFleet, 0)
			away.Store(true)
			_ = (*conns.Load()).Close()
			refusedFor(t, 6*time.Second, l, c)
		})
	}
}

// An operator's init has reached some masters only: the others' markers still say three.
func TestAListThatGrowsByHalfDoesNotGetAQuorumBesideTheOldOne(t *testing.T) {
	t.Parallel()
	for _, level := range levels {
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			p := startProcesses(t, 7)
			l := holds(t, p.of(level, shared, p.urls[:3]))
			reached := []string{p.urls[0], p.urls[3], p.urls[4], p.urls[5], p.urls[6]}
			if err := p.of(level, shared, reached).InitForce(context.Background()); err != nil {
				t.Fatal(err)
			}
			refusedFor(t, 5*time.Second, l, p.of(level, shared, p.urls[:5]))
		})
	}
}

// A client with a list of one master passes by while a master of five is back empty. It would
// declare the master its own once the marker is known to be missing for a second. A client of the
// fleet has to be back before.
func TestAPassingClientDoesNotTakeARestartedMasterAwayFromItsFleet(t *testing.T) {
	t.Parallel()
	for _, level := range levels {
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			p := startProcesses(t, five)
			c := p.of(level, 5*time.Second, p.urls, redlock.WithPool(patiently, pool.WithBackoff(10*time.Millisecond, 100*time.Millisecond)))
			mustUnlock(t, holds(t, c))
			for i := range 2 {
				n, late := p.passBy(t, c, level, i)
				for tries := 0; n != "5" && late && tries < 3; tries++ { // if the machine stood still
					n, late = p.passBy(t, c, level, i)
				}
				if n != "5" {
					t.Fatalf("master %d is of a fleet of %s; the fleet's client was late: %v", i, n, late)
				}
			}
		})
	}
}

// passBy restarts a master without its data. A client whose list is that master alone passes by
// until there is a marker. passBy returns the number of masters in the marker, and whether c took
// longer than half a second to judge the master.
func (p *processes) passBy(t *testing.T, c *redlock.Client, level redlock.GuardLevel, i int) (n string, late bool) {
	t.Helper()
	before := c.Masters()[i].RunID
	p.kill(i)
	p.restart(i)
	began, back := time.Now(), time.Time{}
	passing := p.of(level, 5*time.Second, []string{p.urls[i]})
	defer func() { _ = passing.Close() }()
	for n == "" && time.Since(began) < 10*time.Second {
		_, _ = passing.TryLock(context.Background(), "other")
		if m := c.Masters()[i]; back.IsZero() && m.RunID != before && (m.Votes || m.Why.Cause != guard.Unmarked && m.Why.Cause != guard.NotConnected) {
			back = time.Now()
		}
		stored, _ := p.do(i, "HGET", guard.Key, "n").([]byte)
		n = string(stored)
		time.Sleep(10 * time.Millisecond)
	}
	return n, back.IsZero() || back.Sub(began) > 500*time.Millisecond
}

func TestForcedInitWithAShorterMaxTTLWaitsForEarlierHolders(t *testing.T) {
	t.Parallel()
	for _, level := range levels {
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			p := startProcesses(t, 3)
			l := holds(t, p.of(level, 8*time.Second, p.urls), redlock.WithLease(8*time.Second))
			c := p.of(level, time.Second, p.urls)
			if err := c.InitForce(context.Background()); err != nil {
				t.Fatal(err)
			}
			for i := range 2 { // these two forget the lock
				p.do(i, "DEL", "key")
			}
			refusedFor(t, max(time.Second, l.Remaining()-time.Second), l, c)
		})
	}
}
