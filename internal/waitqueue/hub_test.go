package waitqueue_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/internal/simmaster"
	"github.com/redquorum/redquorum/internal/testutil/masters"
	"github.com/redquorum/redquorum/internal/waitqueue"
)

// A setting is a hub on some masters, in a bubble.
type setting struct {
	*masters.Bubble
	hub   *waitqueue.Hub
	heard []string // the calls; synctest.Wait is between writing and reading
}

func inBubble(t *testing.T, n int, test func(t *testing.T, s *setting)) {
	t.Helper()
	masters.InBubble(t, n, func(t *testing.T, b *masters.Bubble) {
		s := &setting{Bubble: b}
		var all []waitqueue.Master
		for _, p := range b.Pipelines(nil) {
			all = append(all, p)
		}
		s.hub = waitqueue.NewHub(all, "me", func(c waitqueue.WakeUp) { s.heard = append(s.heard, fmt.Sprint(c.Master, c.Key)) })
		defer s.hub.Close()
		test(t, s)
	})
}

// publish sends a wake-up to the client, and returns how many connections received it.
func (s *setting) publish(master int, key string) int {
	s.T.Helper()
	n, err := redis.Int(s.Ask(master, "PUBLISH", waitqueue.ChannelPrefix+"me", key), nil)
	if err != nil {
		s.T.Fatal(err)
	}
	synctest.Wait()
	return n
}

func (s *setting) connections() (n int) {
	synctest.Wait()
	for _, m := range s.All {
		n += m.Connections()
	}
	return n
}

func TestMessagesOfEachMasterAreHeardOnceHoweverManyWait(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, s *setting) {
		a, b := s.hub.Wait(), s.hub.Wait()
		<-a.Subscribe(0)
		<-b.Subscribe(0)
		<-b.Subscribe(2)
		if n := s.publish(0, "a"); n != 1 {
			t.Errorf("%d connections heard it: want the one that both share", n)
		}
		s.publish(2, "b")
		s.publish(1, "nobody listens")
		a.Leave()
		s.publish(0, "c")
		if want := []string{"0a", "2b", "0c"}; !slices.Equal(s.heard, want) {
			t.Errorf("heard %q, want %q", s.heard, want)
		}
		b.Leave()
	})
}

func TestASubscriptionEndsWhenItIsIdle(t *testing.T) {
	inBubble(t, 2, func(t *testing.T, s *setting) {
		before := s.connections()
		w := s.hub.Wait()
		<-w.Subscribe(0)
		<-w.Subscribe(0)
		w.Leave()
		time.Sleep(waitqueue.HubIdle - time.Millisecond)
		again := s.hub.Wait()
		<-again.Subscribe(0)
		time.Sleep(10 * waitqueue.HubIdle)
		if n := s.connections(); n != before+1 || !s.hub.Hears(0) {
			t.Errorf("%d connections while somebody waits: want 1", n-before)
		}
		again.Leave()
		time.Sleep(waitqueue.HubIdle + time.Millisecond)
		if n := s.connections(); n != before || s.hub.Hears(0) {
			t.Errorf("%d connections when nobody has waited for long", n-before)
		}
	})
}

func TestASubscriptionIsMadeAgainWhenItIsLost(t *testing.T) {
	for name, test := range map[string]struct{ lose, giveBack func(m *simmaster.Master) }{
		"killed": {(*simmaster.Master).Kill, func(m *simmaster.Master) { _ = m.Restart(true) }},
		"frozen": {(*simmaster.Master).Freeze, (*simmaster.Master).Thaw},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 1, func(t *testing.T, s *setting) {
				w := s.hub.Wait()
				<-w.Subscribe(0)
				test.lose(s.All[0])
				time.Sleep(5 * time.Second) // more than two heartbeats
				if s.hub.Hears(0) {
					t.Error("a lost subscription counts as heard")
				}
				ready := w.Subscribe(0)
				test.giveBack(s.All[0])
				<-ready
				synctest.Wait() // the master has noticed that earlier connections are gone
				if n := s.publish(0, "key"); n != 1 || len(s.heard) != 1 {
					t.Errorf("%d heard it: %q", n, s.heard)
				}
				w.Leave()
			})
		})
	}
}

func TestAfterCloseNothingIsSubscribed(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, s *setting) {
		before := s.connections()
		w := s.hub.Wait()
		<-w.Subscribe(0)
		s.hub.Close()
		s.hub.Close()
		select {
		case <-w.Subscribe(0):
			t.Error("subscribed after Close")
		case <-time.After(time.Minute):
		}
		w.Leave()
		if n := s.connections(); n != before {
			t.Errorf("%d connections", n-before)
		}
	})
}
