package script

import (
	"fmt"
	"testing"
)

// keysWithQueues makes locks as make does, each with a queue in which client
// number i waits, and a client that hears all that is told.
func (m *lua) keysWithQueues(states string) (keys, all []string) {
	m.t.Helper()
	keys = m.make(states)
	for i, key := range keys {
		queue := fmt.Sprintf("redquorum:q:1:{%s}", key)
		m.do("ZADD", queue, 1, fmt.Sprint("client-", i))
		all = append(all, key, queue)
	}
	return keys, all
}

// Of what is free now each lock that has a queue is handed over, once.
func TestTheReleaseOfASetHandsOverWhatIsFree(t *testing.T) {
	onBoth(t, func(t *testing.T, m *lua) {
		keys, _ := m.keysWithQueues("oaoz")
		m.do("DEL", "redquorum:q:1:{"+keys[2]+"}")
		reply := m.eval(ReleaseSet, keys, ours, "client-0")
		if got, want := fmt.Sprint(reply), "[0 1 2]"; got != want {
			t.Errorf("%s, want %s: the first one, to whoever released it", got, want)
		}
		if got := m.eval(ReleaseSet, keys[:1], ours, "client-9"); fmt.Sprint(got) != "[3 1 1]" {
			t.Errorf("%v: not known to be another's", got)
		}
		// Who does not listen is dropped.
		keys, _ = m.keysWithQueues("oo")
		if got := fmt.Sprint(m.eval(ReleaseSet, keys, ours, "client-1")); got != "[1 1 0 2 2]" {
			t.Errorf("%s", got)
		}
		// What is no queue is left alone, and does not keep the locks.
		keys = m.make("oo")
		m.do("SET", "redquorum:q:1:{"+keys[0]+"}", "x")
		if got := fmt.Sprint(m.eval(ReleaseSet, keys, ours, "client-1")); got != "[1]" || m.letters(keys) != "--" {
			t.Errorf("%s, and the locks are %q", got, m.letters(keys))
		}
	})
}

func TestWhoWantsOneOfSeveralIsToldOfTheFirstThatIsFree(t *testing.T) {
	onBoth(t, func(t *testing.T, m *lua) {
		_, all := m.keysWithQueues("la-")
		m.do("DEL", all[5])
		wait := func(client, waited string) string {
			parts := m.eval(QueueSlots, all, "wait", client, waited).([]any)
			return fmt.Sprintf("%d %d %s", parts[0], parts[1], parts[2])
		}
		if got := wait("me", "+1000"); got != "3 3 none" {
			t.Errorf("%s: want the third", got)
		}
		if got := wait("me", "+1000"); got != "3 3 none" {
			t.Errorf("%s: the mark is not kept", got)
		}
		m.do("SET", all[4], other, "PX", 60_000)
		if got := wait("me", "+1000"); got != "0 2 string" {
			t.Errorf("%s: want the one that expires first", got)
		}
		if got := fmt.Sprintf("%s", m.do("ZRANGE", all[2+1], 0, -1)); got != "[client-1 me]" {
			t.Errorf("the queue is %s", got)
		}
		m.eval(QueueSlots, all, "leave", "me")
		if got := fmt.Sprintf("%s %s", m.do("ZRANGE", all[1], 0, -1), m.do("ZRANGE", all[3], 0, -1)); got != "[client-0] [client-1]" {
			t.Errorf("%s are left", got)
		}
	})
}
