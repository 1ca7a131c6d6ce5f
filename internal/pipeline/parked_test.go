package pipeline

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// stopOn makes the server's first connection execute nothing from FREEZE on until the
// function is called. What it has to say to a client that is gone goes nowhere.
func stopOn(s *fakeServer) (goOn func()) {
	stopped := make(chan struct{})
	gone := func(c *fakeConn) bool { return c.number == 1 && c.client.linger.Load() == closedInOrder }
	s.greet = func(c *fakeConn, args []string) (string, bool) {
		return "", gone(c) || len(args) == 3 && args[1] == "REPLY"
	}
	s.reply = func(c *fakeConn, args []string) string {
		if args[0] == "FREEZE" && c.number == 1 {
			<-stopped
		}
		if gone(c) {
			return ""
		}
		return "+OK\r\n"
	}
	return func() { close(stopped) }
}

// executed is the names of the commands that a connection has read since FREEZE.
func executed(c *fakeConn) (names []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, args := range c.commands {
		if args[0] == "CLIENT" && len(names) > 0 { // REPLY OFF
			continue
		}
		if args[0] == "FREEZE" || len(names) > 0 {
			names = append(names, args[0])
		}
	}
	return names
}

// stalled is a pipeline whose first connection has stalled with SET in the master's
// buffer, and which cannot be connected again before the gate lets it.
func stalled(t *testing.T) (s *fakeServer, g *gate, p *Pipeline, goOn func()) {
	t.Helper()
	s, g, p = atGate(t)
	goOn = stopOn(s)
	g.next <- nil
	waitUp(t, p)
	frozen := start(t, p, "FREEZE")
	synctest.Wait()
	set := start(t, p, "SET")
	mustFail(t, ErrStalled, frozen, set)
	if !frozen.call.Sent || !set.call.Sent {
		t.Errorf("sent: %t, %t", frozen.call.Sent, set.call.Sent)
	}
	synctest.Wait()
	return s, g, p, goOn
}

// mustHaveExecuted fails unless a master that goes on finds these commands, and no others.
func mustHaveExecuted(t *testing.T, s *fakeServer, goOn func(), want ...string) {
	t.Helper()
	goOn()
	synctest.Wait()
	if got := executed(s.conn(1)); !slices.Equal(got, want) {
		t.Errorf("executed %d commands: %.200q, want %d: %.200q", len(got), got, len(want), want)
	}
}

// A master that goes on when this program has ended finds the release behind what it
// had received (S5).
func TestAReleaseIsWrittenBehindWhatAStoppedMasterHasReceived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _, p, goOn := stalled(t)
		lost := start(t, p, "LOST")
		release := startKept(t, p, time.Hour, "RELEASE")
		mustFail(t, ErrDown, lost)
		p.Close()
		mustFail(t, ErrClosed, release)
		mustHaveExecuted(t, s, goOn, "FREEZE", "SET", "RELEASE")
	})
}

// So are those that were queued in the very moment of the stall, or are written while
// others are.
func TestAllReleasesAreWrittenToAStoppedMaster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _, p, goOn := stalled(t)
		for range 1000 {
			startKept(t, p, time.Hour, "RELEASE")
		}
		p.Close()
		mustHaveExecuted(t, s, goOn, append([]string{"FREEZE", "SET"}, slices.Repeat([]string{"RELEASE"}, 1000)...)...)
	})
}

// A stall that is found while the writer is about to write does not cut its command off.
func TestAWriteThatHasBegunOutlastsTheStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, g, p := atGate(t)
		goOn := stopOn(s)
		g.next <- nil
		waitUp(t, p)
		frozen := start(t, p, "FREEZE")
		synctest.Wait()
		time.Sleep(defaultStallLimit - time.Millisecond)
		s.conn(1).client.slow.Store(int64(2 * time.Millisecond))
		startKept(t, p, time.Hour, "RELEASE")
		mustFail(t, ErrStalled, frozen)
		startKept(t, p, time.Hour, "RELEASE")
		p.Close()
		mustHaveExecuted(t, s, goOn, "FREEZE", "RELEASE", "RELEASE")
	})
}

// The release reaches a master that is connected again on the new connection, and the
// old one is reset: late bytes must not be executed behind it (S5).
func TestAMasterThatIsConnectedAgainGetsTheReleaseThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, g, p, goOn := stalled(t)
		release := startKept(t, p, time.Hour, "RELEASE")
		synctest.Wait()
		if got := s.conn(1).client.linger.Load(); got == 0 {
			t.Error("the connection is closed already")
		}
		g.next <- nil
		mustSucceed(t, 2, release)
		if got := s.conn(1).client.linger.Load(); got != 0 {
			t.Errorf("the old connection has linger %d, want 0: closed", got)
		}
		goOn()
	})
}

// Where the writer is stuck half-way nothing can follow: the connection is reset.
func TestAConnectionThatTakesNoMoreIsNotParked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, g, p := atGate(t)
		goOn := stopOn(s)
		s.window = 512
		g.next <- nil
		waitUp(t, p)
		start(t, p, "FREEZE")
		synctest.Wait()
		mustFail(t, ErrStalled, start(t, p, "SET", string(make([]byte, 4096))))
		synctest.Wait()
		if got := s.conn(1).client.linger.Load(); got != 0 {
			t.Errorf("linger %d, want 0: closed", got)
		}
		startKept(t, p, time.Hour, "RELEASE")
		p.Close()
		mustHaveExecuted(t, s, goOn, "FREEZE")
	})
}

// Nothing can end a Read there but the end of the connection.
func TestAConnectionWithoutDeadlinesIsNotParked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, g, p := atGate(t)
		goOn := stopOn(s)
		g.next <- nil
		waitUp(t, p)
		s.conn(1).client.simple.Store(true)
		mustFail(t, ErrStalled, start(t, p, "FREEZE"))
		synctest.Wait()
		if got := s.conn(1).client.linger.Load(); got != 0 {
			t.Errorf("linger %d, want 0: closed", got)
		}
		goOn()
	})
}

// What asks for a vote is not written to a master that is silent; what gives a lock back
// is. With the next reply the master is asked again.
func TestASilentMasterIsNotAskedForVotes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t)
		goOn := stopOn(s)
		p := connect(t, s.config())
		vote := func() *waiter {
			w := newWaiter(t, "SET")
			w.call.Vote = true
			return w.queue(p)
		}
		start(t, p, "FREEZE")
		synctest.Wait()
		early := vote()
		time.Sleep(defaultStallLimit / 2)
		if c := vote().wait(); !errors.Is(c.Err, ErrStalled) || c.Sent {
			t.Errorf("error %v, sent %t", c.Err, c.Sent)
		}
		if !early.pending() {
			t.Error("what was asked before the silence has ended")
		}
		release := startKept(t, p, time.Hour, "RELEASE")
		synctest.Wait()
		goOn()
		synctest.Wait()
		for _, w := range []*waiter{early, release, vote()} {
			if c := w.wait(); c.Err != nil || c.Epoch != 1 {
				t.Errorf("%s: error %v, epoch %d", c.Cmd, c.Err, c.Epoch)
			}
		}
		time.Sleep(time.Hour) // idle is not silent
		if c := vote().wait(); c.Err != nil {
			t.Error(c.Err)
		}
		if got, want := executed(s.conn(1)), []string{"FREEZE", "SET", "RELEASE", "SET", "SET"}; !slices.Equal(got, want) {
			t.Errorf("executed %v, want %v", got, want)
		}
	})
}
