package integration

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/redlock"
)

// Masters stand still, and go on before the time of an outage is over. Whoever waits has the lock then.
func TestALockIsHadAfterMastersHaveStoodStill(t *testing.T) {
	t.Parallel()
	p := startProcesses(t, five)
	p.trusting = true
	c := p.openBrisk(redlock.WithOutageWait(3 * time.Second))
	for _, outage := range []time.Duration{300 * time.Millisecond, 900 * time.Millisecond, 2 * time.Second, 2700 * time.Millisecond} {
		p.freeze(0, 1, 2)
		began := time.Now()
		var thaw sync.WaitGroup
		thaw.Go(func() { time.Sleep(outage); p.thaw(0, 1, 2) })
		l, err := c.Lock(t.Context(), "key")
		thaw.Wait()
		if err != nil {
			t.Errorf("an outage of %v: refused after %v: %v", outage, time.Since(began), err)
			continue
		}
		t.Logf("an outage of %v: locked %v later", outage, time.Since(began)-outage)
		mustUnlock(t, l)
	}
}

// A resetter forwards connections to a server, and resets all of them whenever it is told.
type resetter struct {
	net.Listener
	target string

	mu    sync.Mutex // guards conns
	conns map[*net.TCPConn]bool
}

func (r *resetter) serve() {
	for {
		conn, err := r.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", r.target)
		if err != nil {
			_ = conn.Close()
			continue
		}
		c := conn.(*net.TCPConn)
		r.mu.Lock()
		r.conns[c] = true
		r.mu.Unlock()
		end := func() {
			r.mu.Lock()
			delete(r.conns, c)
			r.mu.Unlock()
			_, _ = c.Close(), server.Close()
		}
		go func() { defer end(); _, _ = io.Copy(c, server) }()
		go func() { defer end(); _, _ = io.Copy(server, c) }()
	}
}

func (r *resetter) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for c := range r.conns {
		_, _ = c.SetLinger(0), c.Close()
	}
}

// Something between client and masters resets all connections four times a second. What is held stays held,
// and most attempts succeed.
func TestConnectionsThatAreResetInARhythmLoseNoLock(t *testing.T) {
	t.Parallel()
	p := startProcesses(t, five)
	behind := masters{t: t}
	var all []*resetter
	for _, server := range p.servers {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		r := &resetter{Listener: listener, target: server.Addr(), conns: make(map[*net.TCPConn]bool)}
		t.Cleanup(func() { _ = r.Close(); r.reset() })
		go r.serve()
		all = append(all, r)
		behind.urls = append(behind.urls, "redis://"+listener.Addr().String())
	}
	c := behind.openBrisk(redlock.WithTTL(3 * time.Second))
	var held []*redlock.Lock
	for i := range 20 {
		held = append(held, mustTry(t, c, fmt.Sprint("held-", i)))
	}
	failed, last := 0, error(nil)
	const attempts = 400
	next := time.Now()
	for i := range attempts {
		if now := time.Now(); now.After(next) {
			for _, r := range all {
				r.reset()
			}
			next = now.Add(250 * time.Millisecond)
		}
		l, err := c.TryLock(t.Context(), fmt.Sprint("key-", i))
		if err != nil {
			failed, last = failed+1, err
		} else if err := l.Unlock(t.Context()); err != nil {
			t.Logf("released, and not confirmed: %v", err)
		}
		time.Sleep(rand.N(40 * time.Millisecond))
	}
	if failed > attempts/2 {
		t.Errorf("%d of %d attempts failed, the last one with %v", failed, attempts, last)
	}
	for _, l := range held {
		if l.Remaining() == 0 {
			t.Errorf("%s: %v", l.Key(), context.Cause(l.Context()))
		}
		_ = l.Unlock(t.Context())
	}
}

// A master becomes a replica, and its address leads to another server only later. A client that is still
// connected to the replica, which answers, finds the new one, and looks at it.
func TestAnAddressThatLeadsToAnotherServerIsDialledAgain(t *testing.T) {
	t.Parallel()
	p := startProcesses(t, five)
	for _, level := range []redlock.GuardLevel{redlock.GuardOff, redlock.GuardStandard} {
		t.Run(string(level), func(t *testing.T) {
			proxy, err := redistest.NewProxy(p.servers[0].Addr())
			if err != nil {
				t.Fatal(err)
			}
			defer proxy.Close()
			behind := masters{t: t, trusting: true, urls: append([]string{"redis://" + proxy.Addr()}, p.urls[1:]...)}
			c := behind.openBrisk(redlock.WithGuard(level))
			before := c.Masters()[0].RunID
			host, port, _ := net.SplitHostPort(p.servers[1].Addr())
			p.do(0, "REPLICAOF", host, port)
			defer func() {
				p.do(0, "REPLICAOF", "NO", "ONE")
				p.do(0, "FLUSHALL") // it has copied a lock that was held, which nobody releases there
			}()
			eventually(t, "the client knows that the server is no master", func() bool {
				_ = c.Do(t.Context(), "key", func(context.Context) error { return nil })
				m := c.Masters()[0]
				return level == redlock.GuardOff || m.Why != nil && strings.Contains(m.Why.Error(), "its role is slave")
			})
			proxy.Retarget(p.servers[2].Addr())
			eventually(t, "the address is dialled again", func() bool {
				_ = c.Do(t.Context(), "key", func(context.Context) error { return nil })
				m := c.Masters()[0]
				return m.Connected && m.RunID != "" && m.RunID != before
			})
		})
	}
}
