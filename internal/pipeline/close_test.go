package pipeline

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestCloseCompletesEverythingAndIsIdempotent(t *testing.T) {
	for _, test := range []struct {
		name  string
		setUp func(t *testing.T, s *fakeServer, cfg *Config)
		queue func(t *testing.T, p *Pipeline) []*waiter // what must end with ErrClosed
	}{
		{"before the first dial is over", func(_ *testing.T, s *fakeServer, cfg *Config) {
			cfg.Dialer = newGate(s).dial
		}, func(t *testing.T, p *Pipeline) []*waiter {
			return []*waiter{start(t, p, "GET"), startKept(t, p, time.Hour, "K1")}
		}},
		{"in the middle of the handshake", func(_ *testing.T, s *fakeServer, _ *Config) {
			s.greet = func(*fakeConn, []string) (string, bool) { return "", true }
		}, func(t *testing.T, p *Pipeline) []*waiter {
			return []*waiter{start(t, p, "GET"), startKept(t, p, time.Hour, "K1")}
		}},
		{"while credentials are fetched", func(_ *testing.T, _ *fakeServer, cfg *Config) {
			cfg.Credentials = func(ctx context.Context) (string, string, error) {
				<-ctx.Done()
				return "", "", ctx.Err()
			}
		}, func(t *testing.T, p *Pipeline) []*waiter { return []*waiter{start(t, p, "GET")} }},
		{"idle", func(*testing.T, *fakeServer, *Config) {}, func(t *testing.T, p *Pipeline) []*waiter {
			mustAnswer(t, p, "OK", "GET", "x")
			return nil
		}},
		{"with calls under way to a frozen master", func(t *testing.T, s *fakeServer, _ *Config) {
			freezeOn(t, s)
		}, func(t *testing.T, p *Pipeline) []*waiter {
			all := []*waiter{start(t, p, "FREEZE"), startKept(t, p, time.Hour, "K1")}
			synctest.Wait()
			return append(all, start(t, p, "GET"))
		}},
		{"with a blocked write and a full queue", func(t *testing.T, s *fakeServer, cfg *Config) {
			freezeOn(t, s)
			s.window, cfg.QueueLimit = 4<<10, 100
		}, func(t *testing.T, p *Pipeline) []*waiter {
			all := []*waiter{start(t, p, "FREEZE")}
			synctest.Wait()
			all = append(all, start(t, p, "SET", strings.Repeat("x", 1<<20)))
			synctest.Wait()
			for range 98 {
				all = append(all, start(t, p, "GET"))
			}
			if c := do(t, p, "GET"); !errors.Is(c.Err, ErrQueueFull) {
				t.Errorf("the queue is not full: %v", c.Err)
			}
			return all
		}},
		{"while the master is down", func(_ *testing.T, _ *fakeServer, cfg *Config) {
			cfg.Dialer = func(context.Context, string, string) (net.Conn, error) { return nil, errRefused }
			cfg.MinBackoff, cfg.MaxBackoff = time.Hour, time.Hour
		}, func(t *testing.T, p *Pipeline) []*waiter { return []*waiter{startKept(t, p, 2*time.Hour, "K1")} }},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newFakeServer(t)
				cfg := s.config()
				test.setUp(t, s, &cfg)
				p := open(t, cfg)
				synctest.Wait()
				calls := test.queue(t, p)
				synctest.Wait()
				begun := time.Now()
				var wg sync.WaitGroup
				for range 5 {
					wg.Go(p.Close)
				}
				wg.Wait()
				p.Close()
				if took := time.Since(begun); took != 0 {
					t.Errorf("Close took %v", took)
				}
				for i, w := range calls {
					if w.pending() {
						t.Fatalf("call %d, %s: pending after Close", i, w.call.Cmd)
					}
					if !errors.Is(w.call.Err, ErrClosed) {
						t.Errorf("call %d, %s: error %v, want ErrClosed", i, w.call.Cmd, w.call.Err)
					}
				}
				for _, w := range []*waiter{start(t, p, "GET"), startKept(t, p, time.Hour, "K2")} {
					if c := w.wait(); !errors.Is(c.Err, ErrClosed) || c.Sent || w.delayed.Load() != 0 {
						t.Errorf("after Close: error %v, sent %t, delayed %d times", c.Err, c.Sent, w.delayed.Load())
					}
				}
				if ok, err := p.Up(); ok || !errors.Is(err, ErrClosed) {
					t.Errorf("up %t, %v", ok, err)
				}
				if got := p.Stats(); got.InFlight != 0 || got.Connected || !errors.Is(got.Err, ErrClosed) {
					t.Errorf("stats: %+v", got)
				}
				dials := s.dials()
				time.Sleep(time.Hour)
				if n := s.dials(); n != dials {
					t.Errorf("%d dials after Close", n-dials)
				}
			})
		})
	}
}

// The dialer ends with its context; how long it takes for that is its own.
func TestCloseEndsADialThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := false
		cfg := newFakeServer(t).config()
		cfg.Dialer = func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			time.Sleep(time.Second)
			ended = true
			return nil, ctx.Err()
		}
		p := open(t, cfg)
		w := start(t, p, "GET")
		synctest.Wait()
		p.Close()
		if !ended {
			t.Error("Close did not wait for the dialer")
		}
		if w.pending() || !errors.Is(w.call.Err, ErrClosed) {
			t.Errorf("pending %t, error %v", w.pending(), w.call.Err)
		}
	})
}

// A dialer may give a connection although its context is over.
func TestAConnectionThatComesTooLateIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t)
		cfg := s.config()
		cfg.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			<-ctx.Done()
			return s.dial(ctx, network, addr)
		}
		p := open(t, cfg)
		c := do(t, p, "GET") // the dial timeout is over
		if !errors.Is(c.Err, ErrTimeout) || !errors.Is(c.Err, ErrDown) {
			t.Errorf("error %v", c.Err)
		}
		p.Close()
		synctest.Wait()
		for n := range s.dials() {
			if got := s.conn(n + 1).client.linger.Load(); got != 0 {
				t.Errorf("connection %d is not closed", n+1)
			}
		}
	})
}

func TestCloseWhileEverybodyQueues(t *testing.T) {
	for range 20 {
		s := newFakeServer(t)
		p := New(short(s.config()))
		var wg sync.WaitGroup
		var mu sync.Mutex
		var calls []*waiter
		for range 8 {
			wg.Go(func() {
				for i := 0; ; i++ {
					w := newWaiter(t, "GET", i)
					if i%3 == 0 {
						w.call.Keep = time.Now().Add(time.Hour)
					}
					mu.Lock()
					calls = append(calls, w)
					mu.Unlock()
					w.queue(p)
					if i%10 == 0 {
						if c := w.wait(); errors.Is(c.Err, ErrClosed) {
							return
						}
					}
				}
			})
		}
		waitUp(t, p)
		eventually(t, "calls are answered", func() bool { return p.Stats().Commands > 100 })
		p.Close()
		wg.Wait()
		for _, w := range calls {
			if n := w.completed.Load(); n != 1 {
				t.Fatalf("a call was completed %d times", n)
			}
			if err := w.call.Err; err != nil && !errors.Is(err, ErrClosed) {
				t.Fatalf("error %v", err)
			}
		}
		if n := p.Stats().InFlight; n != 0 {
			t.Fatalf("%d in flight", n)
		}
		s.stop()
	}
}

// Also between the end of a dial and the beginning of the session.
func TestCloseAtAnyMomentOfADial(t *testing.T) {
	s := newFakeServer(t)
	for range 1000 {
		p := New(short(s.config()))
		for range rand.IntN(30) {
			runtime.Gosched()
		}
		w := start(t, p, "GET", "x")
		p.Close()
		if w.pending() {
			t.Fatal("a call is pending after Close")
		}
		if up, _ := p.Up(); up {
			t.Fatal("up after Close")
		}
	}
}

func TestCloseOnRealSockets(t *testing.T) {
	for _, network := range []string{"tcp", "unix"} {
		t.Run(network, func(t *testing.T) {
			s := newFakeServer(t)
			freezeOn(t, s)
			cfg := short(s.config())
			cfg.Network, cfg.Addr, cfg.Dialer = network, s.listen(network, nil), nil
			cfg.StallLimit = time.Minute
			p := connect(t, cfg)
			mustAnswer(t, p, "OK", "GET", "x")
			calls := []*waiter{start(t, p, "FREEZE"), start(t, p, "SET", strings.Repeat("x", 16<<20)), start(t, p, "GET")}
			p.Close()
			for _, w := range calls {
				if w.pending() || !errors.Is(w.call.Err, ErrClosed) {
					t.Errorf("%s: pending %t, error %v", w.call.Cmd, w.pending(), w.call.Err)
				}
			}
		})
	}
}

// Late bytes would execute after the call was given up (invariant S5): the
// kernel drops what it has not sent, and the master sees a reset.
func TestAClosedConnectionIsReset(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Close() }()
	w := newWire(client, client)
	if err := w.abort(); err != nil {
		t.Fatal(err)
	}
	if err := server.SetReadDeadline(time.Now().Add(bound)); err != nil {
		t.Fatal(err)
	}
	if _, err := server.Read(make([]byte, 1)); err == nil || !strings.Contains(err.Error(), "reset") {
		t.Errorf("the other side reads %v, want a reset", err)
	}
	_ = w.abort() // a second time does no harm
}

func TestRedigoSetsNoDeadlinesAndClosesNothing(t *testing.T) {
	client, server := memPipe(1 << 10)
	w := newWire(client, client)
	now := time.Now()
	for _, err := range []error{w.SetDeadline(now), w.SetReadDeadline(now), w.SetWriteDeadline(now), w.Close()} {
		if err != nil {
			t.Error(err)
		}
	}
	if _, err := fmt.Fprint(w, "+OK\r\n"); err != nil {
		t.Fatal(err)
	}
	if n := client.writes.Load(); n != 0 {
		t.Errorf("%d writes before push", n)
	}
	if err := w.push(); err != nil {
		t.Fatal(err)
	}
	if err := w.push(); err != nil { // nothing is left
		t.Fatal(err)
	}
	if n := client.writes.Load(); n != 1 {
		t.Errorf("%d writes, want 1", n)
	}
	b := make([]byte, 10)
	if n, err := server.Read(b); err != nil || string(b[:n]) != "+OK\r\n" {
		t.Errorf("read %q, %v", b[:n], err)
	}
}

func TestWhatWasNeverSentIsNotWaitedForAtClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t)
		cfg := s.config()
		cfg.Dialer = func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		p := open(t, cfg)
		kept := newWaiter(t, "DEL", "x")
		kept.call.Keep = time.Now().Add(time.Hour)
		kept.queue(p)
		lost := newWaiter(t, "GET", "x").queue(p)
		began := time.Now()
		p.CloseUnused()
		for _, w := range []*waiter{kept, lost, newWaiter(t, "GET", "y").queue(p)} {
			if c := w.wait(); !errors.Is(c.Err, ErrClosed) || c.Sent {
				t.Errorf("%v, sent: %t", c.Err, c.Sent)
			}
		}
		if d := time.Since(began); d > 0 {
			t.Errorf("it took %v", d)
		}
		p.Close()
	})
}

// Its releases have to go out.
func TestAPipelineThatHadAConnectionIsNotClosedAsUnused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t)
		p := connect(t, s.config())
		p.CloseUnused()
		mustAnswer(t, p, "OK", "GET", "x")
		_ = s.conn(1).Close()
		p.CloseUnused()
		synctest.Wait()
		p.CloseUnused()
		mustAnswer(t, p, "OK", "GET", "x")
	})
}
