package integration

import (
	"bytes"
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

// pilotOf is the master at which who waits for the key queues up. It leaves
// nobody there.
func (p *processes) pilotOf(key string) int {
	p.t.Helper()
	held := mustTry(p.t, p.open(), key, redlock.WithTTL(longTTL))
	ctx, cancel := context.WithCancel(p.t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := p.open().Lock(ctx, key)
		done <- err
	}()
	pilot := p.awaitPilot(key)
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		p.t.Fatal(err)
	}
	mustUnlock(p.t, held)
	return pilot
}

const queueOfLock = "redquorum:q:1:{lock}"

// inQueue is who waits for the lock at a master, in order.
func (p *processes) inQueue(i int) []string {
	p.t.Helper()
	all, err := redis.Strings(p.command(i, "ZRANGE", queueOfLock, 0, -1))
	if err != nil {
		p.t.Fatal(err)
	}
	return all
}

// A client was called and has died, and then the pilot's clock is set back: its
// mark, of a quarter of a second, would hold off everybody for an hour.
func TestAPilotsClockThatIsSetBackAfterACallHoldsNobodyOff(t *testing.T) {
	for name, opts := range map[string][]redlock.LockOption{"fair": {redlock.WithFairness()}, "not fair": nil} {
		t.Run(name, func(t *testing.T) {
			p := startConfigured(t, redistest.Config{MovableClock: true}, five)
			pilot := p.pilotOf("lock")
			holder := mustTry(t, p.open(), "lock", redlock.WithTTL(longTTL))
			p.do(pilot, "ZADD", queueOfLock, 1, "dead")
			conn, err := p.servers[pilot].Dial(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := conn.Do("SUBSCRIBE", "redquorum:w:1:dead"); err != nil {
				t.Fatal(err)
			}
			mustUnlock(t, holder)
			if _, err := conn.Receive(); err != nil { // the call
				t.Fatal(err)
			}
			_ = conn.Close()
			if err := p.servers[pilot].SetClock(-time.Hour); err != nil {
				t.Fatal(err)
			}
			if got := p.inQueue(pilot); len(got) != 1 {
				t.Fatalf("in the queue are %q", got)
			}
			ctx, cancel := context.WithTimeout(t.Context(), settleBound)
			defer cancel()
			began := time.Now()
			l, err := p.open().Lock(ctx, "lock", opts...)
			if took := time.Since(began); err != nil || took > time.Second {
				t.Fatalf("a free lock was had after %v: %v", took, err)
			}
			mustUnlock(t, l)
		})
	}
}

// A cutLine is how one client reaches a master: what it says is late, and
// questions of those who wait may be cut off before the answer.
type cutLine struct {
	addr string
	late time.Duration
	cuts atomic.Int32 // so many more

	mu    sync.Mutex // guards what follows
	off   bool
	conns []net.Conn
}

func (l *cutLine) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	var d net.Dialer
	if addr != l.addr {
		return d.DialContext(ctx, network, addr)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.off {
		return nil, errors.New("cut off")
	}
	conn, err := d.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	l.conns = append(l.conns, conn)
	return &cutConn{conn, l}, nil
}

// cut cuts the master off for 30 ms.
func (l *cutLine) cut() {
	l.mu.Lock()
	l.off = true
	for _, c := range l.conns {
		_ = c.Close()
	}
	l.conns = nil
	l.mu.Unlock()
	time.Sleep(30 * time.Millisecond)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.off = false
}

type cutConn struct {
	net.Conn
	line *cutLine
}

func (c *cutConn) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("\r\nwait\r\n")) && c.line.cuts.Add(-1) >= 0 {
		time.AfterFunc(c.line.late/2, c.line.cut)
	}
	return c.Conn.Write(p)
}

func (c *cutConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	time.Sleep(c.line.late)
	return n, err
}

// Who waits first, and is cut off from a slow pilot again and again, is served in
// its turn when that is over.
func TestAFairWaiterIsServedThoughItsSlowPilotWasCutOff(t *testing.T) {
	p := startProcesses(t, five)
	fair := redlock.WithFairness()
	line := &cutLine{addr: p.servers[p.pilotOf("lock")].Addr(), late: 60 * time.Millisecond}
	patient := p.open(redlock.WithPool(pool.WithDialer(line.dial)))
	holder := mustTry(t, p.open(), "lock", redlock.WithTTL(longTTL))
	line.cuts.Store(8)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	first := make(chan error, 1)
	var got *redlock.Lock
	go func() {
		var err error
		got, err = patient.Lock(ctx, "lock", fair)
		first <- err
	}()
	eventually(t, "the cuts are over", func() bool { return line.cuts.Load() < 0 })
	time.Sleep(3 * time.Second) // the longest pause of a dial, and what it takes to be judged

	var served atomic.Int32
	over := make(chan struct{})
	var others sync.WaitGroup
	for range 3 {
		c := p.open()
		others.Go(func() {
			for {
				l, err := c.Lock(ctx, "lock", fair)
				if err != nil {
					return // the test has ended
				}
				served.Add(1)
				time.Sleep(20 * time.Millisecond)
				_ = l.Unlock(context.Background())
				select {
				case <-over:
					return
				case <-time.After(time.Millisecond):
				}
			}
		})
	}
	time.Sleep(time.Second) // they wait
	mustUnlock(t, holder)
	if err := <-first; err != nil {
		t.Errorf("the first one, while others had it %d times: %v", served.Load(), err)
	} else {
		// One more may have been called while it was not heard.
		if n := served.Load(); n > 10 {
			t.Errorf("others had it %d times before", n)
		}
		mustUnlock(t, got)
	}
	close(over)
	others.Wait()
}

// A permission that was missing for a moment is found again, by who waits and by
// who releases.
func TestAPilotThatForbadeItsQueueIsThePilotAgainWhenItIsPermitted(t *testing.T) {
	redistest.Need(t, redistest.ACL)
	p := startProcesses(t, five)
	pilot := p.pilotOf("lock")
	p.do(pilot, "ACL", "SETUSER", "default", "resetkeys", "~lock", "~redquorum:marker")
	c := p.open(redlock.WithTTL(longTTL))
	holder := mustTry(t, c, "lock")
	got := waiting(t, p)
	within(t, settleBound, "it queues up elsewhere", func() bool {
		for i := range five {
			if i != pilot && len(p.inQueue(i)) > 0 {
				return true
			}
		}
		return false
	})
	p.do(pilot, "ACL", "SETUSER", "default", "allkeys")
	within(t, settleBound, "it is back in the pilot's queue", func() bool { return len(p.inQueue(pilot)) > 0 })
	mustUnlock(t, holder)
	mustUnlock(t, given(t, got))
}
