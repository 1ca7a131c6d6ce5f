package pipeline

import (
	"context"
	"errors"
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// A gate lets a test decide when each dial goes on, and whether it fails.
type gate struct {
	s    *fakeServer
	next chan error // one value for each dial; nil: it succeeds
}

func newGate(s *fakeServer) *gate { return &gate{s: s, next: make(chan error)} }

func (g *gate) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	select {
	case err := <-g.next:
		if err != nil {
			return nil, err
		}
		return g.s.dial(ctx, network, addr)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (g *gate) config() Config {
	cfg := g.s.config()
	cfg.Dialer, cfg.DialTimeout = g.dial, time.Hour
	return cfg
}

var errRefused = errors.New("connect: connection refused")

// atGate opens a pipeline whose dials wait at a gate.
func atGate(t *testing.T) (*fakeServer, *gate, *Pipeline) {
	t.Helper()
	s := newFakeServer(t)
	g := newGate(s)
	return s, g, open(t, g.config())
}

// dropOn makes the server close the connection when it reads DROP. On the first connection it
// answers GET and nothing else.
func dropOn(s *fakeServer) {
	s.reply = func(c *fakeConn, args []string) string {
		switch {
		case args[0] == "DROP":
			_ = c.Close()
			return ""
		case c.number == 1 && args[0] != "GET":
			return ""
		}
		return "+OK\r\n"
	}
}

// connected opens a pipeline to a server with dropOn, and waits until it is up.
func connected(t *testing.T) (*fakeServer, *gate, *Pipeline) {
	t.Helper()
	s, g, p := atGate(t)
	dropOn(s)
	g.next <- nil
	mustAnswer(t, p, "OK", "GET", "x")
	return s, g, p
}

func TestKeptCallsSurviveAReconnectInOrderAndAheadOfNewerOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, g, p := connected(t)

		kept := []*waiter{startKept(t, p, time.Minute, "K1"), nil, startKept(t, p, time.Minute, "K2")}
		synctest.Wait() // K1 and K2 are under way
		unkept := start(t, p, "U1")
		kept[1] = startKept(t, p, time.Minute, "K3")
		drop := start(t, p, "DROP")
		mustFail(t, ErrConnectionLost, unkept, drop)
		if c := unkept.call; !c.Sent || c.Epoch != 1 {
			t.Errorf("sent %t, epoch %d", c.Sent, c.Epoch)
		}
		synctest.Wait() // the next dial waits at the gate
		newer := start(t, p, "N1")
		kept = append(kept, startKept(t, p, time.Minute, "K4"))
		g.next <- nil
		mustSucceed(t, 2, append(kept, newer)...)
		for _, w := range kept {
			if n := w.delayed.Load(); n != 0 {
				t.Errorf("%s: delayed %d times although the master came back at once", w.call.Cmd, n)
			}
		}
		if got, want := s.conn(2).calls(), []string{"K1", "K2", "K3", "N1", "K4"}; !slices.Equal(got, want) {
			t.Errorf("arrived: %v, want %v", got, want)
		}
	})
}

func TestKeptCallsWaitForAMasterThatIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, g, p := connected(t)

		first := startKept(t, p, time.Hour, "K1")
		drop := start(t, p, "DROP")
		drop.wait()
		g.next <- errRefused
		synctest.Wait()
		if n := first.delayed.Load(); n != 1 || !first.pending() {
			t.Fatalf("delayed %d times, pending %t; want once, and pending", n, first.pending())
		}
		// The master is down now: a kept call is delayed at once, and another call fails.
		second := startKept(t, p, time.Hour, "K2")
		if n := second.delayed.Load(); n != 1 || !second.pending() {
			t.Fatalf("queued while down: delayed %d times, pending %t", n, second.pending())
		}
		if c := do(t, p, "U1"); !errors.Is(c.Err, ErrDown) || !errors.Is(c.Err, errRefused) || c.Sent {
			t.Errorf("error %v, sent %t", c.Err, c.Sent)
		}
		for range 3 {
			g.next <- errRefused
		}
		synctest.Wait()
		if !first.pending() || !second.pending() {
			t.Fatal("a kept call was given up before its time")
		}
		g.next <- nil
		mustSucceed(t, 2, first, second)
		if !first.call.Again || second.call.Again {
			t.Errorf("written again: %t, %t; want the first alone", first.call.Again, second.call.Again)
		}
		if got := s.conn(2).calls(); !slices.Equal(got, []string{"K1", "K2"}) {
			t.Errorf("arrived: %v", got)
		}
	})
}

// The acquisition may be queued before its release, and is executed just as late.
func TestKeptCallsAreSentOnTheFirstConnectionHoweverLateItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, g, p := atGate(t)
		release := startKept(t, p, time.Second, "K1")
		time.Sleep(time.Minute)
		g.next <- nil
		mustSucceed(t, 1, release)
	})
}

func TestKeptCallsFailOnceTheirTimeIsOverWhileTheMasterIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, g, p := atGate(t)
		w := startKept(t, p, time.Second, "K1")
		g.next <- errRefused
		synctest.Wait()
		if !w.pending() {
			t.Fatal("given up before its time")
		}
		time.Sleep(time.Second)
		g.next <- errRefused
		if c := w.wait(); !errors.Is(c.Err, ErrDown) || c.Sent || c.Epoch != 0 {
			t.Errorf("error %v, sent %t, epoch %d", c.Err, c.Sent, c.Epoch)
		}
		if c := startKept(t, p, 0, "K2").wait(); !errors.Is(c.Err, ErrDown) {
			t.Errorf("error %v for a call whose time is over from the start", c.Err)
		}
	})
}

// Abandoned is called right before each write of a call, also before the first.
func TestAKeptCallThatIsAbandonedMeanwhileIsNotSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, g, p := connected(t)
		written := startKept(t, p, time.Minute, "K1")
		start(t, p, "DROP").wait()
		queued := startKept(t, p, time.Minute, "K2")
		for _, w := range []*waiter{written, queued} {
			w.unwanted.Store(true)
		}
		g.next <- nil
		for _, w := range []*waiter{written, queued} {
			if c := w.wait(); !errors.Is(c.Err, ErrAbandoned) || c.Sent != (w == written) {
				t.Errorf("%s: error %v, sent %t", c.Cmd, c.Err, c.Sent)
			}
		}
		if got := s.conn(2).calls(); len(got) != 0 {
			t.Errorf("arrived: %v", got)
		}
	})
}
