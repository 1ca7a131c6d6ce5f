package redlock_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/simmaster"
	"github.com/redquorum/redquorum/internal/testutil/masters"
	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

// A sim has embedded masters in a bubble of virtual time, and the options of their clients.
type sim struct {
	*masters.Bubble
	opts []redlock.Option // of all clients
}

// inSim runs a test against n masters.
func inSim(t *testing.T, n int, test func(t *testing.T, s *sim)) {
	t.Helper()
	masters.InBubble(t, n, func(t *testing.T, b *masters.Bubble) {
		b.AtEnd(func() { time.Sleep(time.Second) }) // let commands that were sent before Close arrive
		test(t, &sim{Bubble: b})
	})
}

// inUnguardedSim is inSim without the guard, for tests of something else that restart or empty
// masters whose votes they need, or count commands.
func inUnguardedSim(t *testing.T, n int, test func(t *testing.T, s *sim)) {
	t.Helper()
	inSim(t, n, func(t *testing.T, s *sim) {
		s.opts = append(s.opts, redlock.WithGuard(redlock.GuardOff))
		test(t, s)
	})
}

// inCleanSim is inSim for tests that leave no lock on masters that answer.
func inCleanSim(t *testing.T, n int, test func(t *testing.T, s *sim)) {
	t.Helper()
	inSim(t, n, func(t *testing.T, s *sim) {
		s.AtEnd(func() { s.atOnce("no key is left", func() bool { return len(s.keys()) == 0 }) })
		test(t, s)
	})
}

func inUnguardedCleanSim(t *testing.T, n int, test func(t *testing.T, s *sim)) {
	t.Helper()
	inCleanSim(t, n, func(t *testing.T, s *sim) {
		s.opts = append(s.opts, redlock.WithGuard(redlock.GuardOff))
		test(t, s)
	})
}

// open makes a client that is closed at the end, and waits until it has connected to all masters
// that can be reached.
func (s *sim) open(opts ...redlock.Option) *redlock.Client {
	s.T.Helper()
	return s.openAt(s.URLs(), opts...)
}

// openAt is open for a client of masters at these addresses.
func (s *sim) openAt(urls []string, opts ...redlock.Option) *redlock.Client {
	s.T.Helper()
	c := s.openCold(urls, opts...)
	synctest.Wait()
	return c
}

// openCold makes a client that may not be connected to its masters yet.
func (s *sim) openCold(urls []string, opts ...redlock.Option) *redlock.Client {
	s.T.Helper()
	opts = slices.Concat([]redlock.Option{redlock.WithPool(pool.WithDialer(s.dial))}, s.opts, opts)
	c, err := redlock.Open(urls, opts...)
	if err != nil {
		s.T.Fatal(err)
	}
	s.AtEnd(func() { _ = c.Close() })
	return c
}

// messageTrip is how long a message takes to a subscriber; all else takes no time. So a woken
// waiter finds the release on all masters, whatever the scheduler does: a release is sent to all of
// them at one moment.
const messageTrip = time.Nanosecond

// soon is how long something takes that needs messages but no timer.
const soon = 10 * time.Microsecond

// settle lets all goroutines do what they can do at once, also after a message.
func settle() {
	time.Sleep(10 * messageTrip)
	synctest.Wait()
}

func (s *sim) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := s.Dialer()(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &subscribingConn{Conn: conn}, nil
}

// A subscribingConn delays messages from the moment it subscribes.
type subscribingConn struct {
	net.Conn
	subscribed atomic.Bool
}

func (c *subscribingConn) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("\r\nSUBSCRIBE\r\n")) {
		c.subscribed.Store(true)
	}
	return c.Conn.Write(p)
}

func (c *subscribingConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.subscribed.Load() {
		time.Sleep(messageTrip)
	}
	return n, err
}

func (s *sim) do(command string, args ...any) {
	s.T.Helper()
	for i := range s.All {
		s.Ask(i, command, args...)
	}
}

func (s *sim) doOn(which []int, command string, args ...any) {
	s.T.Helper()
	for _, i := range which {
		s.Ask(i, command, args...)
	}
}

const stranger = "somebody else"

// foreign puts a stranger's lock onto masters.
func (s *sim) foreign(key string, which ...int) {
	s.T.Helper()
	s.doOn(which, "SET", key, stranger, "PX", 60_000)
}

// value returns a master's value at a key, "" for none.
func (s *sim) value(i int, key string) string {
	v, _ := s.All[i].Get(key)
	return v
}

// answering returns the masters that are neither down nor frozen.
func (s *sim) answering() []*simmaster.Master {
	return slices.DeleteFunc(slices.Clone(s.All), func(m *simmaster.Master) bool { return !m.Up() || m.Frozen() })
}

// holding counts the answering masters that have the value at the key, "" for none.
func (s *sim) holding(key, value string) (n int) {
	for _, m := range s.answering() {
		if v, _ := m.Get(key); v == value {
			n++
		}
	}
	return n
}

// keys returns the keys of all answering masters, except markers, and except fences, which outlive
// every lock.
func (s *sim) keys() (keys []string) {
	for _, m := range s.answering() {
		keys = append(keys, m.Keys()...)
	}
	return slices.DeleteFunc(keys, func(key string) bool {
		return key == guard.Key || key == guard.Sighting || key == guard.ListKey || strings.HasPrefix(key, "redquorum:fence:")
	})
}

// wantFree fails unless the key is gone, at once, from all answering masters.
func (s *sim) wantFree(key string) {
	s.T.Helper()
	s.atOnce("the key "+key+" is gone", func() bool { return s.holding(key, "") == len(s.answering()) })
}

// lock acquires a free lock, and fails unless all answering masters have it.
func (s *sim) lock(c *redlock.Client, key string, opts ...redlock.LockOption) *redlock.Lock {
	s.T.Helper()
	l, err := c.TryLock(context.Background(), key, opts...)
	if err != nil {
		s.T.Fatalf("the lock is free: %v", err)
	}
	s.atOnce("all have the key", func() bool { return s.holding(key, l.Token()) == len(s.answering()) })
	return l
}

// atOnce fails unless the condition holds once nothing is under way.
func (s *sim) atOnce(what string, condition func() bool) {
	s.T.Helper()
	if synctest.Wait(); !condition() {
		s.T.Errorf("not at once: %s; keys: %q", what, s.keys())
	}
}

// eventually waits for the condition, up to a generous limit.
func (s *sim) eventually(what string, condition func() bool) {
	s.T.Helper()
	deadline := time.Now().Add(15 * time.Second)
	for synctest.Wait(); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			s.T.Fatalf("not in time: %s; keys: %q", what, s.keys())
		}
	}
}

// holders counts the masters that have the value at key.
func (s *sim) holders(key, value string) (n int) {
	for _, m := range s.All {
		if v, ok := m.Get(key); ok && v == value {
			n++
		}
	}
	return n
}

// dataKeys returns every key of every master except the markers.
func (s *sim) dataKeys() (keys []string) {
	for _, m := range s.All {
		keys = append(keys, m.Keys()...)
	}
	return slices.DeleteFunc(keys, func(key string) bool { return key == guard.Key || key == guard.Sighting || key == guard.ListKey })
}

func (s *sim) wantClean() {
	s.T.Helper()
	synctest.Wait()
	if keys := s.dataKeys(); len(keys) != 0 {
		s.T.Errorf("keys left behind: %q", keys)
	}
}

// everySentinel are the errors to compare with, so that the right ones match and no others.
var everySentinel = []error{
	redlock.ErrTaken, redlock.ErrNoQuorum, redlock.ErrLost, redlock.ErrNotHeld,
	redlock.ErrUnlocked, redlock.ErrReentrant, redlock.ErrClosed,
	context.Canceled, context.DeadlineExceeded,
}

// wantExactly fails unless err matches each of want and no other sentinel, and its
// text is one line.
func wantExactly(t *testing.T, err error, want ...error) {
	t.Helper()
	if err == nil {
		t.Errorf("no error: want one that matches %v", want)
		return
	}
	for _, sentinel := range everySentinel {
		wanted := slices.Contains(want, sentinel)
		if is := errors.Is(err, sentinel); is != wanted {
			t.Errorf("errors.Is(%q, %v) is %v: want %v", err, sentinel, is, wanted)
		}
	}
	if strings.ContainsAny(err.Error(), "\r\n") {
		t.Errorf("the text has more than one line: %q", err)
	}
}

// mustLock acquires or ends the test. It lets the masters execute what the decision did not wait
// for.
func mustLock(t *testing.T, c *redlock.Client, key string, opts ...redlock.LockOption) *redlock.Lock {
	t.Helper()
	l, err := c.Lock(t.Context(), key, opts...)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	return l
}

// unlock releases, and lets the masters execute it.
func unlock(t *testing.T, locks ...*redlock.Lock) {
	t.Helper()
	for _, l := range locks {
		if err := l.Unlock(t.Context()); err != nil {
			t.Errorf("unlock %s: %v", l.Key(), err)
		}
	}
	synctest.Wait()
}

// within fails unless f takes at most limit of virtual time.
func within(t *testing.T, limit time.Duration, f func()) time.Duration {
	t.Helper()
	began := time.Now()
	f()
	took := time.Since(began)
	if took > limit {
		t.Errorf("took %v: want at most %v", took, limit)
	}
	return took
}
