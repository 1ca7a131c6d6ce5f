package pipeline

import (
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"
)

// Whatever a broken or hostile master sends costs one connection, and no more.

// checkBreakage answers the command BREAK with bytes, and then closes the connection if hangUp is
// set.
func checkBreakage(t *testing.T, bytes string, hangUp bool, want error) {
	t.Helper()
	s := newFakeServer(t)
	queued := make(chan struct{})
	s.reply = func(c *fakeConn, args []string) string {
		if args[0] != "BREAK" {
			return "+OK\r\n"
		}
		<-queued
		_, _ = io.WriteString(c, bytes)
		if hangUp {
			_ = c.Close()
		}
		return ""
	}
	p := connect(t, s.config())
	mustAnswer(t, p, "OK", "GET", "x")
	broken := []*waiter{start(t, p, "BREAK"), start(t, p, "BREAK")}
	close(queued)
	mustFail(t, want, broken...)
	// The master had served before, so the next call waits for the new connection.
	mustSucceed(t, 2, start(t, p, "GET", "x"))
	synctest.Wait() // nothing is completed twice
	if n := s.dials(); n != 2 {
		t.Errorf("%d connections, want 2", n)
	}
	if got := s.conn(1).client.linger.Load(); got != 0 {
		t.Errorf("linger %d when the connection was closed, want 0", got)
	}
}

func TestAHostileReplyCostsAConnectionAndNoVote(t *testing.T) {
	for _, hostile := range hostileReplies {
		t.Run(hostile.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { checkBreakage(t, hostile.reply, false, ErrProtocol) })
		})
	}
}

func TestAReplyThatEndsWithTheConnectionIsNoVote(t *testing.T) {
	for _, reply := range []string{"+OK\r\n", ":1\r\n", "*3\r\n$6\r\nstring\r\n$1\r\nt\r\n:9\r\n"} {
		for n := range reply {
			t.Run(fmt.Sprintf("%q", reply[:n]), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { checkBreakage(t, reply[:n], true, ErrConnectionLost) })
			})
		}
	}
}

// Bytes alone are no progress: a server whose reply never ends holds up all others.
func TestAReplyThatNeverEndsIsAStall(t *testing.T) {
	dribble := func(c *fakeConn) {
		for _, err := io.WriteString(c, "$"); err == nil; time.Sleep(100 * time.Millisecond) {
			_, err = io.WriteString(c, "0")
		}
	}
	for _, reply := range []string{"+O", "*4096\r\n:1\r\n", "dribble"} {
		synctest.Test(t, func(t *testing.T) {
			s := newFakeServer(t)
			s.reply = func(c *fakeConn, _ []string) string {
				if reply != "dribble" {
					return reply
				}
				dribble(c)
				return ""
			}
			p := connect(t, s.config())
			mustStall(t, time.Now(), time.Second, start(t, p, "GET", "x"))
		})
	}
}

func TestAReplyThatNobodyAskedForEndsTheConnection(t *testing.T) {
	for _, reply := range []string{"+OK\r\n", "+O", "*1\r\n"} {
		inBubble(t, fmt.Sprintf("%q on an idle connection", reply), func(t *testing.T) {
			s := newFakeServer(t)
			p := connect(t, s.config())
			mustAnswer(t, p, "OK", "GET", "x")
			if _, err := io.WriteString(s.conn(1), reply); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if n := s.dials(); n != 2 {
				t.Fatalf("%d connections, want a second one", n)
			}
			mustSucceed(t, 2, start(t, p, "GET", "x"))
		})
	}
}

// The owner of the first call holds up the reader until the second command is sent. By then the
// second reply to the first command has arrived.
func TestASecondReplyIsNotTakenForTheNextCommandsReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t)
		next := make(chan struct{})
		s.reply = func(c *fakeConn, args []string) string {
			if args[0] == "TWICE" {
				return ":1\r\n:1\r\n"
			}
			close(next)
			return "" // the server is frozen by now
		}
		p := connect(t, s.config())
		second := newWaiter(t, "NEXT")
		first := newWaiter(t, "TWICE")
		first.onDone = func(*Call) {
			second.queue(p)
			select {
			case <-next:
			case <-time.After(time.Second / 2): // the connection is gone
			}
		}
		first.queue(p)
		first.wait()
		if c := second.wait(); c.Err == nil {
			t.Errorf("the second command got the reply %v, which was sent before it", c.Reply)
		}
	})
}

func TestAnAnswerBeforeTheCommandIsNoVote(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t)
		s.accept = func(c *fakeConn) bool {
			_, _ = io.WriteString(c, ":7\r\n") // before it has read anything
			return true
		}
		// PING, the last command of the handshake, is answered when one more command is there.
		s.greet = func(_ *fakeConn, args []string) (string, bool) { return "", args[0] == "PING" }
		s.reply = func(*fakeConn, []string) string { return "+PONG\r\n" }
		p := open(t, s.config())
		for range 3 {
			if c := do(t, p, "GET", "x"); c.Err == nil {
				t.Fatalf("reply %v on a connection that is one reply ahead", c.Reply)
			}
			time.Sleep(time.Second)
		}
	})
}
