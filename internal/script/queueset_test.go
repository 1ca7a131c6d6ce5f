package script

import (
	"fmt"
	"testing"
)

// keysWithQueues makes locks as make does, each with a queue in which client
// number i waits, and a client that hears all that is told.
func (s *server) keysWithQueues(states string) (keys, all []any) {
	s.t.Helper()
	keys = s.make(states)
	for i, key := range keys {
		queue := fmt.Sprintf("redquorum:q:1:{%s}", key)
		s.do("ZADD", queue, 1, fmt.Sprint("client-", i))
		all = append(all, key, queue)
	}
	return keys, all
}

// Of what is free now each lock that has a queue is handed over, once.
func TestTheReleaseOfASetHandsOverWhatIsFree(t *testing.T) {
	onEachServer(t, func(t *testing.T, s *server) {
		keys, _ := s.keysWithQueues("oaoz")
		s.do("DEL", "redquorum:q:1:{"+keys[2].(string)+"}")
		reply := s.run(ReleaseSet, keys, ours, "client-0")
		if got, want := fmt.Sprint(reply), "[0 1 2]"; got != want {
			t.Errorf("%s, want %s: the first one, to whoever released it", got, want)
		}
		if got := s.run(ReleaseSet, keys[:1], ours, "client-9"); fmt.Sprint(got) != "[3 1 1]" {
			t.Errorf("%v: not known to be another's", got)
		}
		// Who does not listen is dropped.
		keys, _ = s.keysWithQueues("oo")
		if got := fmt.Sprint(s.run(ReleaseSet, keys, ours, "client-1")); got != "[1 1 0 2 2]" {
			t.Errorf("%s", got)
		}
		// What is no queue is left alone, and does not keep the locks.
		keys = s.make("oo")
		s.do("SET", "redquorum:q:1:{"+keys[0].(string)+"}", "x")
		if got := fmt.Sprint(s.run(ReleaseSet, keys, ours, "client-1")); got != "[1]" || s.state(keys) != "--" {
			t.Errorf("%s, and the locks are %q", got, s.state(keys))
		}
	})
}

func TestWhoWantsOneOfSeveralIsToldOfTheFirstThatIsFree(t *testing.T) {
	onEachServer(t, func(t *testing.T, s *server) {
		_, all := s.keysWithQueues("la-")
		s.do("DEL", all[5])
		wait := func(client, waited string) string {
			parts := s.run(QueueSlots, all, "wait", client, waited).([]any)
			return fmt.Sprintf("%d %d %s", parts[0], parts[1], parts[2])
		}
		if got := wait("me", "+1000"); got != "3 3 none" {
			t.Errorf("%s: want the third", got)
		}
		if got := wait("me", "+1000"); got != "3 3 none" {
			t.Errorf("%s: the mark is not kept", got)
		}
		s.do("SET", all[4], other, "PX", 60_000)
		if got := wait("me", "+1000"); got != "0 2 string" {
			t.Errorf("%s: want the one that expires first", got)
		}
		if got := fmt.Sprintf("%s", s.do("ZRANGE", all[2+1], 0, -1)); got != "[client-1 me]" {
			t.Errorf("the queue is %s", got)
		}
		s.run(QueueSlots, all, "leave", "me")
		if got := fmt.Sprintf("%s %s", s.do("ZRANGE", all[1], 0, -1), s.do("ZRANGE", all[3], 0, -1)); got != "[client-0] [client-1]" {
			t.Errorf("%s are left", got)
		}
	})
}
