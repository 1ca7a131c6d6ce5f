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

// mustBeClosed is for calls that Close must have ended.
func mustBeClosed(t *testing.T, calls ...*waiter) {
	t.Helper()
	for i, w := range calls {
		if w.pending() {
			t.Fatalf("call %d, %s: pending after Close", i, w.call.Cmd)
		}
	}
	mustFail(t, ErrClosed, calls...)
}

func TestCloseCompletesEverythingAndIsIdempotent(t *testing.T) {
	getAndKept := func(t *testing.T, p *Pipeline) []*waiter {
		return []*waiter{start(t, p, "GET"), startKept(t, p, time.Hour, "K1")}
	}
	for _, test := range []struct {
		name  string
		setUp func(s *fakeServer, cfg *Config)
		queue func(t *testing.T, p *Pipeline) []*waiter // what must end with ErrClosed
	}{
		{"before the first dial is over", func(s *fakeServer, cfg *Config) { cfg.Dialer = newGate(s).dial }, getAndKept},
		{"in the middle of the handshake", func(s *fakeServer, _ *Config) { s.hold("INFO") }, getAndKept},
		{"while credentials are fetched", func(_ *fakeServer, cfg *Config) {
			cfg.Credentials = func(ctx context.Context) (string, string, error) {
				<-ctx.Done()
				return "", "", ctx.Err()
			}
		}, getAndKept},
		{"idle", func(*fakeServer, *Config) {}, func(t *testing.T, p *Pipeline) []*waiter {
			mustAnswer(t, p, "OK", "GET", "x")
			return nil
		}},
		{"with calls under way to a frozen master", func(s *fakeServer, _ *Config) { s.hold("FREEZE") },
			func(t *testing.T, p *Pipeline) []*waiter {
				all := []*waiter{start(t, p, "FREEZE"), startKept(t, p, time.Hour, "K1")}
				synctest.Wait()
				return append(all, start(t, p, "GET"))
			}},
		{"with a blocked write and a full queue", func(s *fakeServer, cfg *Config) {
			s.hold("FREEZE")
			s.window, cfg.QueueLimit = 4<<10, 100
		}, func(t *testing.T, p *Pipeline) []*waiter {
			all := []*waiter{start(t, p, "FREEZE")}
			synctest.Wait()
			all = append(all, start(t, p, "SET", strings.Repeat("x", 1<<20)))
			synctest.Wait()
			for range 98 {
				all = append(all, start(t, p, "GET"))
			}
			mustFail(t, ErrQueueFull, start(t, p, "GET"))
			return all
		}},
		{"while the master is down", func(_ *fakeServer, cfg *Config) {
			cfg.Dialer = func(context.Context, string, string) (net.Conn, error) { return nil, errRefused }
			cfg.MinBackoff, cfg.MaxBackoff = time.Hour, time.Hour
		}, func(t *testing.T, p *Pipeline) []*waiter { return []*waiter{startKept(t, p, 2*time.Hour, "K1")} }},
	} {
		inBubble(t, test.name, func(t *testing.T) {
			s := newFakeServer(t)
			cfg := s.config()
			test.setUp(s, &cfg)
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
			mustBeClosed(t, calls...)
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
		mustBeClosed(t, w)
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
			s.hold("FREEZE")
			cfg := short(s.config())
			cfg.Network, cfg.Addr, cfg.Dialer = network, s.listen(network, nil), nil
			cfg.StallLimit = time.Minute
			p := connect(t, cfg)
			mustAnswer(t, p, "OK", "GET", "x")
			calls := []*waiter{start(t, p, "FREEZE"), start(t, p, "SET", strings.Repeat("x", 16<<20)), start(t, p, "GET")}
			p.Close()
			mustBeClosed(t, calls...)
		})
	}
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

// A reset would have it drop what it has not read, as soon as it answers what it has.
func TestCloseDoesNotResetAMasterThatHasBeenSentEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t)
		s.hold("FREEZE")
		p := connect(t, s.config())
		start(t, p, "FREEZE")
		synctest.Wait()
		startKept(t, p, time.Hour, "RELEASE")
		synctest.Wait()
		p.Close()
		if got := s.conn(1).client.linger.Load(); got != closedInOrder {
			t.Errorf("linger %d: want it closed in order", got)
		}
	})
}

func TestWhatWasNeverSentIsNotWaitedForAtClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, _, p := atGate(t)
		calls := []*waiter{startKept(t, p, time.Hour, "DEL", "x"), start(t, p, "GET", "x")}
		began := time.Now()
		p.CloseUnused()
		calls = append(calls, start(t, p, "GET", "y"))
		mustFail(t, ErrClosed, calls...)
		for _, w := range calls {
			if w.call.Sent {
				t.Errorf("%s counts as sent", w.call.Cmd)
			}
		}
		if d := time.Since(began); d > 0 {
			t.Errorf("it took %v", d)
		}
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
