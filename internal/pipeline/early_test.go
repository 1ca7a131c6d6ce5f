package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// newEarly is a call that may go out with the handshake.
func newEarly(t *testing.T, cmd string) *waiter {
	t.Helper()
	w := newWaiter(t, cmd)
	w.call.Undo = AppendCommand(nil, "UNDO", cmd)
	w.call.Check = testCheck
	return w
}

// answerBy asks one function about all commands; false: the usual reply.
func (s *fakeServer) answerBy(f func(c *fakeConn, args []string) (string, bool)) {
	s.greet = f
	s.reply = func(c *fakeConn, args []string) string {
		if out, ok := f(c, args); ok {
			return out
		}
		return "+OK\r\n"
	}
}

func TestAnEarlyCallGoesOutWithTheFirstHandshakeAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, g, p := atGate(t)
		const last = "PING"
		var all []string
		// Nothing is answered before the whole handshake has come.
		s.answerBy(func(c *fakeConn, args []string) (string, bool) {
			if c.number > 1 || slices.Contains(all, last) {
				return "", false
			}
			all = append(all, join(args))
			if join(args) != last {
				return "", true
			}
			for _, line := range all {
				reply, ok := map[string]string{"TAKE1": ":1\r\n", "TAKE2": "-OOM no\r\n", "FIRST 1": saysA, "SECOND marker": "-NOPERM no\r\n"}[line]
				if !ok {
					reply = c.greeting(strings.Fields(line))
				}
				if _, err := io.WriteString(c, reply); err != nil {
					t.Error(err)
				}
			}
			return "", true
		})
		w := &recorder{t: t}
		p.Watch(w)
		one, two, gone := newEarly(t, "TAKE1"), newEarly(t, "TAKE2"), newEarly(t, "TAKE3")
		gone.unwanted.Store(true)
		for _, e := range []*waiter{one, gone, two} {
			e.call.Sent, e.call.Epoch = false, 7
			e.onDone = func(c *Call) {
				if c != gone.call && !strings.Contains(w.all(), "up 1") {
					t.Error("an early call is complete before the watchers have heard of the connection")
				}
			}
			e.queue(p)
		}
		g.next <- nil
		if c := one.wait(); c.Err != nil || c.Reply != any(int64(1)) || c.Epoch != 1 || !c.Sent || c.Said().Mark != "" || c.Said().Err == nil {
			t.Errorf("the first: %v, %v on connection %d, check %+v", c.Reply, c.Err, c.Epoch, c.Said())
		}
		if c := two.wait(); !IsReply(c.Err) || c.Epoch != 1 || !c.Sent {
			t.Errorf("the second: %v, %v on connection %d", c.Reply, c.Err, c.Epoch)
		}
		if c := gone.wait(); !errors.Is(c.Err, ErrAbandoned) || c.Sent {
			t.Errorf("the abandoned one: %v, sent %t", c.Err, c.Sent)
		}
		if got := strings.Join(all, ", "); !strings.HasSuffix(got, ", TAKE1, TAKE2, FIRST 1, SECOND marker, PING") {
			t.Errorf("sent %s", got)
		}
		if n := s.conn(1).client.writes.Load(); n != 1 {
			t.Errorf("%d writes, want 1", n)
		}
		// A later connection carries it behind the old one's end.
		mustAnswer(t, p, "OK", "GET", "x")
		_ = s.conn(1).Close()
		synctest.Wait()
		later := newEarly(t, "TAKE4").queue(p) // before the second handshake
		g.next <- nil
		if c := later.wait(); c.Err != nil || c.Epoch != 2 {
			t.Errorf("later: %v on connection %d", c.Err, c.Epoch)
		}
		got := joined(s.conn(2).seen())
		if slices.Index(got, "TAKE4") < slices.IndexFunc(got, func(line string) bool { return strings.HasPrefix(line, "CLIENT KILL") }) {
			t.Errorf("the second connection got %q", got)
		}
	})
}

func TestAnEarlyCallDoesNotOvertakeTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, g, p := atGate(t)
		other, early := newWaiter(t, "GET", "x").queue(p), newEarly(t, "TAKE").queue(p)
		close(g.next)
		mustSucceed(t, 1, other, early)
		got := joined(s.conn(1).seen())
		if at := slices.Index(got, "GET x"); at < slices.Index(got, "PING") || slices.Index(got, "TAKE") < at {
			t.Errorf("sent %q", got)
		}
	})
}

func TestAHandshakeThatBreaksLosesItsEarlyCalls(t *testing.T) {
	for _, reply := range []string{"", "-LOADING Redis is loading\r\n", "+OK\r"} {
		synctest.Test(t, func(t *testing.T) {
			s, g, p := atGate(t)
			s.answerBy(func(c *fakeConn, args []string) (string, bool) {
				if c.number > 1 || join(args) != "TAKE" {
					return "", false
				}
				if _, err := io.WriteString(c, reply); err != nil {
					t.Error(err)
				}
				if !strings.HasPrefix(reply, "-") {
					_ = c.Close()
				}
				return "", true
			})
			early := newEarly(t, "TAKE").queue(p)
			close(g.next)
			if c := early.wait(); !errors.Is(c.Err, ErrDown) || !c.Sent {
				t.Errorf("after %q: %v, sent %t: the master may have executed it", reply, c.Err, c.Sent)
			}
			waitUp(t, p)
			for _, line := range joined(s.conn(2).seen()) {
				if strings.Contains(line, "TAKE") {
					t.Errorf("the next connection got %s", line)
				}
			}
		})
	}
}

// A server that refuses the password may still execute what follows, as its default user.
func TestAnEarlyCallIsUndoneWhereTheHandshakeIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t)
		g := newGate(s)
		undone := make(chan struct{})
		s.answerBy(func(c *fakeConn, args []string) (string, bool) {
			switch {
			case args[0] == "AUTH":
				return "-WRONGPASS invalid username-password pair\r\n", true
			case join(args) == "UNDO TAKE" && c.number == 1:
				time.Sleep(time.Second / 2) // the connection must not end before the answer
				close(undone)
				return ":1\r\n", true
			}
			return "", false
		})
		cfg := g.config()
		cfg.Password = "pw"
		p := open(t, cfg)
		early := newEarly(t, "TAKE").queue(p)
		close(g.next)
		c := early.wait()
		if _, config := errors.AsType[*ConfigError](c.Err); !config || !c.Sent {
			t.Errorf("%v, sent %t", c.Err, c.Sent)
		}
		select {
		case <-undone:
		default:
			t.Error("it was completed before it was taken back")
		}
		if got := joined(s.conn(1).seen()); got[len(got)-1] != "UNDO TAKE" {
			t.Errorf("sent %q", got)
		}
	})
}

// Nobody could release them: what is queued after the end fails.
func TestEarlyCallsDoNotGoOutOnceThePipelineIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t)
		connected := make(chan struct{})
		cfg := s.config()
		cfg.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			<-connected // whatever its context says
			return s.dial(ctx, network, addr)
		}
		p := open(t, cfg)
		early := newEarly(t, "TAKE").queue(p)
		synctest.Wait()
		p.CloseUnused()
		close(connected)
		if c := early.wait(); !errors.Is(c.Err, ErrClosed) || c.Sent {
			t.Errorf("%v, sent %t", c.Err, c.Sent)
		}
	})
}

func TestAPipelineIsUsedWhileAnEarlyCallGoesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, g, p := atGate(t)
		early := newEarly(t, "TAKE")
		early.onAsked = p.CloseUnused
		early.queue(p)
		g.next <- nil
		mustSucceed(t, 1, early)
	})
}

// The release of a call that went out with a handshake which failed is still to come.
func TestAPipelineStaysUsedWhenTheHandshakeOfAnEarlyCallFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, g, p := atGate(t)
		s.answerBy(func(c *fakeConn, args []string) (string, bool) {
			switch {
			case args[0] == "TAKE":
				_ = c.Close()
				return "", true
			case c.number == 2 && args[0] == "PING":
				p.CloseUnused()
			}
			return "", false
		})
		early := newEarly(t, "TAKE").queue(p)
		g.next <- nil
		early.wait()
		release := startKept(t, p, time.Minute, "RELEASE")
		g.next <- nil
		mustSucceed(t, 1, release)
	})
}

func TestCloseDuringTheHandshakeEndsEarlyCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, g, p := atGate(t)
		s.hold("TAKE")
		early := newEarly(t, "TAKE").queue(p)
		close(g.next)
		synctest.Wait()
		p.Close()
		if c := early.wait(); !errors.Is(c.Err, ErrClosed) || !c.Sent {
			t.Errorf("%v, sent %t", c.Err, c.Sent)
		}
	})
}

// A master that stops in the handshake has received the early calls. When it goes on, it finds
// their releases behind them, also where the client is gone by then (S5), or where their time
// is over: the key that is set then lives as long as any other.
func TestEarlyCallsAreReleasedOnAMasterThatStopsInTheHandshake(t *testing.T) {
	for name, end := range map[string]func(p *Pipeline){
		"the dial gives up":  func(p *Pipeline) { time.Sleep(2 * p.cfg.DialTimeout) },
		"the client closes":  (*Pipeline).Close,
		"one, and the other": func(p *Pipeline) { time.Sleep(2 * p.cfg.DialTimeout); p.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, g, p := atGate(t)
				goOn := stopOn(s)
				early := newEarly(t, "FREEZE").queue(p)
				early.onDone = func(*Call) { startKept(t, p, p.cfg.DialTimeout, "RELEASE") }
				g.next <- nil
				synctest.Wait()
				startKept(t, p, p.cfg.DialTimeout/2, "EARLIER")
				end(p)
				if c := early.wait(); c.Err == nil || !c.Sent {
					t.Errorf("%v, sent %t", c.Err, c.Sent)
				}
				want := []string{"EARLIER", "RELEASE"}
				if errors.Is(early.call.Err, ErrClosed) { // it is too late for what comes then
					want = want[:1]
				}
				goOn()
				synctest.Wait()
				got := joined(s.conn(1).seen())
				if i := slices.Index(got, "CLIENT REPLY OFF"); !slices.Contains(got[:max(i, 0)], "FREEZE") || !slices.Equal(got[i+1:], want) {
					t.Errorf("the master has executed %q, want %q in the end", got, want)
				}
			})
		})
	}
}

// So it does where the handshake ends in the very moment in which the client closes.
func TestEarlyCallsAreReleasedOnAMasterThatComesUpAsTheClientCloses(t *testing.T) {
	for name, hook := range map[string]func(p *Pipeline, early *waiter, closing func()){
		"before there is a session":    func(p *Pipeline, _ *waiter, closing func()) { p.Watch(&onUp{closing}) },
		"before the session has begun": func(_ *Pipeline, early *waiter, closing func()) { early.onDone = func(*Call) { closing() } },
	} {
		inBubble(t, name, func(t *testing.T) {
			s, g, p := atGate(t)
			stopOn(s) // which says nothing to a client that is gone
			early := newEarly(t, "TAKE")
			closed := make(chan struct{})
			hook(p, early, func() {
				go func() { p.Close(); close(closed) }()
				synctest.Wait() // it waits for the supervisor, which runs this
			})
			early.queue(p)
			release := startKept(t, p, time.Hour, "RELEASE")
			g.next <- nil
			<-closed
			mustFail(t, ErrClosed, release)
			synctest.Wait()
			got := joined(s.conn(1).seen())
			if !slices.Contains(got, "TAKE") || got[len(got)-1] != "RELEASE" {
				t.Errorf("the master has executed %q", got)
			}
		})
	}
}

// onUp is a watcher that calls a function when a connection comes up.
type onUp struct{ f func() }

func (w *onUp) CameUp(uint64, string) []*Call { w.f(); return nil }
func (*onUp) WentDown(uint64, error, bool)    {}

// Scripts come only behind the handshake, and nobody hears there that one is missing.
func TestReleasesBehindAHandshakeCarryTheirScripts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t)
		g := newGate(s)
		cfg := g.config()
		cfg.Scripts = []Script{{SHA: strings.Repeat("a", 40), Source: "return 1"}, {SHA: strings.Repeat("b", 40), Source: "return 2"}}
		p := open(t, cfg)
		goOn := stopOn(s)
		newEarly(t, "FREEZE").queue(p)
		g.next <- nil
		synctest.Wait()
		startKept(t, p, time.Hour, "EVALSHA", cfg.Scripts[1].SHA, 1, "key", "token")
		startKept(t, p, time.Hour, "EVALSHA", strings.Repeat("c", 40), 1, "key", "token")
		p.Close()
		goOn()
		synctest.Wait()
		got := joined(s.conn(1).seen())
		want := []string{"EVAL return 2 1 key token", "EVALSHA " + strings.Repeat("c", 40) + " 1 key token"}
		if !slices.Equal(got[len(got)-2:], want) {
			t.Errorf("the master has executed %q, want %q in the end", got, want)
		}
	})
}

// Nothing can follow half a command, also in a handshake.
func TestAHandshakeThatWasNotWrittenWholeIsNotParked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, g, p := atGate(t)
		goOn := s.hold("CLIENT")
		s.window = 16
		early := newEarly(t, "TAKE").queue(p)
		g.next <- nil
		synctest.Wait()
		startKept(t, p, time.Hour, "RELEASE")
		p.Close()
		if c := early.wait(); !errors.Is(c.Err, ErrClosed) {
			t.Error(c.Err)
		}
		if got := s.conn(1).client.linger.Load(); got != 0 {
			t.Errorf("linger %d, want 0: reset", got)
		}
		goOn()
	})
}

// The numbers that users see count early calls as others.
func TestEarlyCallsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, g, p := atGate(t)
		s.reply = answers(map[string]string{"TAKE1": ":1\r\n", "TAKE2": "-ERR no\r\n", "FIRST": saysA, "SECOND": saysB})
		one, two := newEarly(t, "TAKE1").queue(p), newEarly(t, "TAKE2").queue(p)
		close(g.next)
		if c := one.wait(); c.Said().Mark != saysA+saysB {
			t.Errorf("mark %q", c.Said().Mark)
		}
		two.wait()
		synctest.Wait()
		if got := p.Stats(); fmt.Sprint(got.Commands, got.Failures) != "2 1" {
			t.Errorf("%d commands, %d failures", got.Commands, got.Failures)
		}
	})
}
