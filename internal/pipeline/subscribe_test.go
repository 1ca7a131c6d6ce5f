package pipeline

import (
	"io"
	"testing"
	"testing/synctest"
	"time"
)

// A deafListener ignores all events.
type deafListener struct{}

func (deafListener) Subscribed()        {}
func (deafListener) Unsubscribed(error) {}
func (deafListener) Message(string)     {}

// A subscription that is cut off after it has listened for a while is made again at once, each
// time. It has received no message, but it is no failed dial.
func TestASubscriptionThatIsCutOffAgainAndAgainIsMadeAgainAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t)
		s.reply = func(*fakeConn, []string) string { return "*3\r\n" + bulk("subscribe") + bulk("news") + ":1\r\n" }
		p := connect(t, s.config())
		sub := p.Subscribe("news", deafListener{})
		defer sub.Close()
		for n := 2; n < 10; n++ {
			time.Sleep(300 * time.Millisecond)
			_ = s.conn(n).Close()
			begun := time.Now()
			synctest.Wait()
			if s.dials() != n+1 || time.Since(begun) != 0 {
				t.Fatalf("%d connections, want %d at once", s.dials(), n+1)
			}
		}
	})
}

func TestASubscriptionThatBreaksAfterEachMessageIsMadeWithABackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t)
		p := connect(t, s.config())
		before := s.dials()
		s.reply = func(c *fakeConn, _ []string) string {
			_, _ = io.WriteString(c, "*3\r\n"+bulk("subscribe")+bulk("news")+":1\r\n")
			time.Sleep(4 * time.Millisecond)
			_, _ = io.WriteString(c, "*3\r\n"+bulk("message")+bulk("news")+bulk("x"))
			_ = c.Close()
			return ""
		}
		sub := p.Subscribe("news", deafListener{})
		time.Sleep(25 * time.Second)
		sub.Close()
		// With pauses of half a second to a second, after the first few.
		if n := s.dials() - before; n < 25 || n > 65 {
			t.Errorf("%d dials in 25 seconds", n)
		}
	})
}
