package pipeline

import (
	"io"
	"testing"
	"testing/synctest"
	"time"
)

// A deafListener does nothing with what it hears.
type deafListener struct{}

func (deafListener) Subscribed()        {}
func (deafListener) Unsubscribed(error) {}
func (deafListener) Message(string)     {}

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
