package redlock_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

// A fleet is masters of one of two sorts, and what a test does to them: simulated
// masters in virtual time, or redis-servers. A test that is written for fleets runs
// on both, so what it asserts of the simulation is known of Redis.
//
// Virtual time shows exactly when something happens, real time only that it happens
// soon: exactly is true, or slack is more than 0.
type fleet struct {
	t       *testing.T
	urls    []string
	exactly bool
	slack   time.Duration    // how much later than in virtual time something may happen
	opts    []redlock.Option // of all clients
	away    []bool           // masters that do not answer
	clients []*redlock.Client

	settle  func() // lets simulated masters and their clients do what is to be done at once
	command func(i int, name string, args ...any) (any, error)
	asked   func(i int) int // how many SETs and scripts a master has executed
	masters []fleetMaster
}

type fleetMaster interface {
	kill() error
	restart(keep bool) error
	freeze() error
	thaw() error
}

// onEach runs a test on n simulated masters and on n redis-servers. Its clients have
// the default guard.
func onEach(t *testing.T, n int, test func(t *testing.T, f *fleet)) {
	t.Helper()
	onEachWith(t, n, nil, test)
}

// onEachUnguarded is onEach for tests that restart or empty masters whose votes they
// need.
func onEachUnguarded(t *testing.T, n int, test func(t *testing.T, f *fleet)) {
	t.Helper()
	onEachWith(t, n, []redlock.Option{redlock.WithGuard(redlock.GuardOff)}, test)
}

func onEachWith(t *testing.T, n int, opts []redlock.Option, test func(t *testing.T, f *fleet)) {
	t.Helper()
	t.Run("simulated", func(t *testing.T) { onSimulated(t, n, opts, test) })
	t.Run("real", func(t *testing.T) {
		cluster := redistest.Start(t, n, redistest.Config{AppendOnly: redistest.AppendAlways})
		f := &fleet{t: t, urls: cluster.URLs(), slack: time.Second, settle: func() {}}
		f.command = func(i int, name string, args ...any) (any, error) { return cluster.Masters[i].Do(name, args...) }
		f.asked = func(i int) int { return executed(t, cluster.Masters[i]) }
		f.opts = append([]redlock.Option{redlock.WithPool(pool.WithBackoff(10*time.Millisecond, 100*time.Millisecond))}, opts...)
		for _, s := range cluster.Masters {
			f.masters = append(f.masters, process{s})
		}
		f.run(test)
	})
}

// onSimulated is for tests whose times would be too short, or last too long, on real masters.
func onSimulated(t *testing.T, n int, opts []redlock.Option, test func(t *testing.T, f *fleet)) {
	t.Helper()
	inSim(t, n, func(t *testing.T, s *sim) {
		f := &fleet{t: t, urls: s.URLs(), exactly: true, settle: synctest.Wait, command: s.Command}
		f.asked = func(i int) int {
			done := s.All[i].Commands()
			return done["SET"] + done["EVALSHA"]
		}
		f.opts = append([]redlock.Option{redlock.WithPool(pool.WithDialer(s.dial))}, opts...)
		for _, m := range s.All {
			f.masters = append(f.masters, simulated{m})
		}
		f.run(test)
	})
}

// run ends a test: its clients are closed, and nothing is left on masters that answer.
func (f *fleet) run(test func(t *testing.T, f *fleet)) {
	f.t.Helper()
	f.away = make([]bool, len(f.urls))
	defer func() {
		for _, c := range f.clients {
			_ = c.Close()
		}
		if !f.t.Failed() {
			f.atOnce("no key is left", func() bool { return len(f.keys()) == 0 })
		}
		for i, away := range f.away {
			if away {
				_ = f.masters[i].thaw() // or it could not be ended
			}
		}
	}()
	test(f.t, f)
}

// open makes a client and waits until it is connected to all masters that answer.
// On redis-servers it is patient: five of them share one machine.
func (f *fleet) open(opts ...redlock.Option) *redlock.Client {
	f.t.Helper()
	if !f.exactly {
		opts = append([]redlock.Option{redlock.WithPool(pool.WithCommandTimeout(5 * time.Second))}, opts...)
	}
	return f.openBrisk(opts...)
}

// openBrisk is open with the library's own timeouts, for tests in which they matter.
func (f *fleet) openBrisk(opts ...redlock.Option) *redlock.Client {
	f.t.Helper()
	c := f.openCold(opts...)
	f.eventually("all masters that answer vote", func() bool {
		for i, r := range c.Masters(context.Background()) {
			if !f.away[i] && !r.Votes {
				return false
			}
		}
		return true
	})
	return c
}

// openCold makes a client that may not have found the masters yet.
func (f *fleet) openCold(opts ...redlock.Option) *redlock.Client {
	f.t.Helper()
	c, err := redlock.Open(f.urls, slices.Concat(f.opts, opts)...)
	if err != nil {
		f.t.Fatal(err)
	}
	f.clients = append(f.clients, c)
	return c
}

// patient is open for tests in which nothing but a context ends the wait for masters.
func (f *fleet) patient(opts ...redlock.Option) *redlock.Client {
	f.t.Helper()
	return f.openBrisk(append(opts, redlock.WithPool(pool.WithCommandTimeout(30*time.Second), pool.WithStallLimit(time.Minute)))...)
}

// lock acquires a lock that is free, and waits until all masters that answer have it. On
// redis-servers it tries again: those of a busy machine may be late for a brisk client.
func (f *fleet) lock(c *redlock.Client, key string, opts ...redlock.LockOption) *redlock.Lock {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	acquire := c.TryLock
	if !f.exactly {
		acquire = c.Lock
	}
	l, err := acquire(ctx, key, opts...)
	if err != nil {
		f.t.Fatalf("the lock is free: %v", err)
	}
	f.atOnce("all have the key", func() bool { return f.holders(key, l.Token()) == f.answering() })
	return l
}

func (f *fleet) unlock(l *redlock.Lock) {
	f.t.Helper()
	if err := l.Unlock(context.Background()); err != nil {
		f.t.Fatalf("the lock is held: %v", err)
	}
}

// do is a command to some masters that must succeed.
func (f *fleet) do(which []int, name string, args ...any) {
	f.t.Helper()
	for _, i := range which {
		if _, err := f.command(i, name, args...); err != nil {
			f.t.Fatalf("master %d: %s: %v", i, name, err)
		}
	}
}

// all are the numbers of all masters.
func (f *fleet) all() (which []int) {
	for i := range f.urls {
		which = append(which, i)
	}
	return which
}

// foreign puts a stranger's lock onto masters.
func (f *fleet) foreign(key string, which ...int) {
	f.t.Helper()
	f.do(which, "SET", key, stranger, "PX", 60_000)
}

const stranger = "somebody else"

// remove deletes a key that the test has put there.
func (f *fleet) remove(key string) {
	f.t.Helper()
	for i, away := range f.away {
		if !away {
			f.do([]int{i}, "DEL", key)
		}
	}
}

// value is what a master has at a key, "" for nothing.
func (f *fleet) value(i int, key string) string {
	f.t.Helper()
	value, err := redis.String(f.command(i, "GET", key))
	if err != nil && !errors.Is(err, redis.ErrNil) {
		f.t.Fatalf("master %d: GET %s: %v", i, key, err)
	}
	return value
}

// ttl is how long a master keeps a key.
func (f *fleet) ttl(i int, key string) time.Duration {
	f.t.Helper()
	ms, err := redis.Int64(f.command(i, "PTTL", key))
	if err != nil {
		f.t.Fatalf("master %d: PTTL %s: %v", i, key, err)
	}
	return time.Duration(ms) * time.Millisecond
}

// holders is how many of the masters that answer have the value at the key.
func (f *fleet) holders(key, value string) (n int) {
	f.t.Helper()
	for i, away := range f.away {
		if !away && f.value(i, key) == value {
			n++
		}
	}
	return n
}

func (f *fleet) answering() (n int) {
	for _, away := range f.away {
		if !away {
			n++
		}
	}
	return n
}

// sent is how many SETs and scripts the masters that answer have executed.
func (f *fleet) sent() (n int) {
	for i, away := range f.away {
		if !away {
			n += f.asked(i)
		}
	}
	return n
}

// keys are those of all masters that answer, but the markers, and the fences, which outlive
// every lock.
func (f *fleet) keys() (keys []string) {
	f.t.Helper()
	for i, away := range f.away {
		if away {
			continue
		}
		on, err := redis.Strings(f.command(i, "KEYS", "*"))
		if err != nil {
			f.t.Fatalf("master %d: KEYS: %v", i, err)
		}
		keys = append(keys, on...)
	}
	return slices.DeleteFunc(keys, func(key string) bool {
		return key == guard.Key || key == guard.Sighting || strings.HasPrefix(key, "redquorum:fence:")
	})
}

// wantFree fails unless the key is gone, at once, from all masters that answer.
func (f *fleet) wantFree(key string) {
	f.t.Helper()
	f.atOnce("the key "+key+" is gone", func() bool { return f.holders(key, "") == f.answering() })
}

func (f *fleet) kill(which ...int)   { f.t.Helper(); f.fault(fleetMaster.kill, true, which) }
func (f *fleet) freeze(which ...int) { f.t.Helper(); f.fault(fleetMaster.freeze, true, which) }
func (f *fleet) thaw(which ...int)   { f.t.Helper(); f.fault(fleetMaster.thaw, false, which) }

// restart starts masters that were killed, with what they knew or without.
func (f *fleet) restart(keep bool, which ...int) {
	f.t.Helper()
	f.fault(func(m fleetMaster) error { return m.restart(keep) }, false, which)
}

func (f *fleet) fault(what func(fleetMaster) error, away bool, which []int) {
	f.t.Helper()
	for _, i := range which {
		if err := what(f.masters[i]); err != nil {
			f.t.Fatal(err)
		}
		f.away[i] = away
	}
	f.settle()
}

// awaitDown waits until a client knows that masters are down: calls fail there at once.
func (f *fleet) awaitDown(c *redlock.Client, which ...int) {
	f.t.Helper()
	for _, i := range which {
		f.eventually("a master is known to be down", func() bool {
			r := c.Masters(context.Background())[i]
			return !r.Connected && (f.exactly || errors.Is(r.Err, syscall.ECONNREFUSED))
		})
	}
}

// awaitUp waits until a client is connected to masters again.
func (f *fleet) awaitUp(c *redlock.Client, which ...int) {
	f.t.Helper()
	for _, i := range which {
		f.eventually("a master is connected again", func() bool { return c.Masters(context.Background())[i].Connected })
	}
}

// atOnce waits for what takes no virtual time.
func (f *fleet) atOnce(what string, condition func() bool) {
	f.t.Helper()
	if !f.exactly {
		f.eventually(what, condition)
	} else if f.settle(); !condition() {
		f.t.Fatalf("not at once: %s; keys: %q", what, f.keys())
	}
}

// eventually waits for what must happen, and is generous.
func (f *fleet) eventually(what string, condition func() bool) {
	f.t.Helper()
	deadline := time.Now().Add(15 * time.Second)
	for f.settle(); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			f.t.Fatalf("not in time: %s; keys: %q", what, f.keys())
		}
	}
}

// within fails unless what is done takes at most limit, and the slack.
func (f *fleet) within(limit time.Duration, do func()) time.Duration {
	f.t.Helper()
	return within(f.t, limit+f.slack, do)
}

// wantLost fails unless the lock's context has ended by a loss for this reason.
func wantLost(t *testing.T, l *redlock.Lock, reason redlock.Reason) {
	t.Helper()
	ctx := l.Context()
	if ctx.Err() == nil {
		t.Errorf("the lock's context lives, want it lost: %v", reason)
		return
	}
	want := []error{redlock.ErrLost}
	if reason == redlock.ReasonClosed {
		want = append(want, redlock.ErrClosed)
	}
	wantExactly(t, context.Cause(ctx), want...)
	wantReason(t, context.Cause(ctx), reason)
	if lost, ok := errors.AsType[*redlock.LostError](context.Cause(ctx)); ok && lost.Key != l.Key() {
		t.Errorf("lost %q, want %q", lost.Key, l.Key())
	}
	if left := l.Remaining(); left != 0 {
		t.Errorf("a lost lock has %v remaining", left)
	}
}
