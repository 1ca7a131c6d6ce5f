package pipeline

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// mustBeClosed fails unless Close has ended the calls.
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

// Close works at any moment, also between the end of a dial and the start of its session.
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

// After a reset, the master's next answer would fail, and it would drop what it has not read yet.
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

func TestOnlyAPipelineThatHasNeverHadAConnectionIsClosedAsUnused(t *testing.T) {
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
		// A pipeline that had a connection still has to send its releases.
		s, g, p := atGate(t)
		g.next <- nil
		mustAnswer(t, p, "OK", "GET", "x")
		p.CloseUnused()
		_ = s.conn(1).Close()
		synctest.Wait()
		p.CloseUnused() // while it is dialled again
		g.next <- nil
		mustAnswer(t, p, "OK", "GET", "x")
	})
}
