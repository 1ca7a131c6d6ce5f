package pipeline

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestAnAbandonedCallIsNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, g, p := atGate(t)
		var wanted, unwanted []*waiter
		for i := range 9 {
			w := start(t, p, "SET", i)
			if i%3 != 1 {
				wanted = append(wanted, w)
				continue
			}
			w.unwanted.Store(true)
			unwanted = append(unwanted, w)
		}
		close(g.next)
		mustSucceed(t, 1, wanted...)
		mustFail(t, ErrAbandoned, unwanted...)
		for _, w := range unwanted {
			if w.call.Sent || w.call.Epoch != 0 {
				t.Errorf("abandoned call: sent %t, epoch %d", w.call.Sent, w.call.Epoch)
			}
		}
		want := []string{"SET 0", "SET 2", "SET 3", "SET 5", "SET 6", "SET 8"}
		if got := s.conn(1).calls(); !slices.Equal(got, want) {
			t.Errorf("arrived: %v, want %v", got, want)
		}
	})
}

// An owner that gives up does not cost the connection: the late reply comes to
// its own call, which nobody waits for, and the next call gets its own.
func TestALateReplyIsNotTheNextCallsReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t)
		s.reply = func(_ *fakeConn, args []string) string {
			if args[0] == "SLOW" {
				time.Sleep(300 * time.Millisecond)
			}
			return ":" + args[1] + "\r\n"
		}
		p := connect(t, s.config())
		var slow []*waiter
		for i := range 3 {
			w := start(t, p, "SLOW", i)
			synctest.Wait() // it is sent
			w.unwanted.Store(true)
			slow = append(slow, w)
		}
		c := do(t, p, "FAST", 99)
		if c.Err != nil || c.Reply != int64(99) || c.Epoch != 1 {
			t.Errorf("reply %v, error %v, epoch %d; want 99 on the first connection", c.Reply, c.Err, c.Epoch)
		}
		for i, w := range slow {
			if w.pending() {
				t.Fatalf("call %d is not completed, but the one behind it is", i)
			}
			if w.call.Err != nil || w.call.Reply != int64(i) {
				t.Errorf("call %d: reply %v, error %v", i, w.call.Reply, w.call.Err)
			}
		}
	})
}

// Abandoned is asked for each call right before it is written, not when it is
// queued: a decision that falls while the writer is busy still saves the call.
func TestAbandonedIsAskedWhenTheCallWouldBeWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t)
		s.window = 1 << 10
		goOn := s.hold("HOLD")
		p := connect(t, s.config())
		start(t, p, "HOLD")
		synctest.Wait()
		start(t, p, "SET", string(make([]byte, 10<<10)))
		synctest.Wait() // the writer is blocked
		asked := false
		late := newWaiter(t, "LATE")
		late.onAsked = func() { asked = true }
		late.queue(p)
		synctest.Wait()
		if asked {
			t.Error("asked before its turn")
		}
		late.unwanted.Store(true)
		goOn()
		if c := late.wait(); !asked || !errors.Is(c.Err, ErrAbandoned) || c.Sent {
			t.Errorf("asked %t, error %v, sent %t", asked, c.Err, c.Sent)
		}
	})
}
