package pipeline

import (
	"errors"
	"testing"
	"testing/synctest"
)

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
