package script

import (
	"fmt"
	"testing"
)

// keysWithQueues makes locks as make does, each with a queue in which client number i waits.
func (m *lua) keysWithQueues(states string) (keys []string) {
	m.t.Helper()
	keys = m.make(states)
	for i, key := range keys {
		queue := fmt.Sprintf("redquorum:q:1:{%s}", key)
		m.do("ZADD", queue, 1, fmt.Sprint("client-", i))
	}
	return keys
}

// Each lock that is free now and has a queue is handed over, once.
func TestTheReleaseOfASetHandsOverWhatIsFree(t *testing.T) {
	whole := newMaster(t)
	m := whole.lua
	keys := m.keysWithQueues("oaoz")
	m.do("DEL", "redquorum:q:1:{"+keys[2]+"}")
	reply := m.eval(ReleaseSet, keys, ours, "client-0")
	if got, want := fmt.Sprint(reply), "[0 1 2]"; got != want {
		t.Errorf("%s, want %s: the first one, to whoever released it", got, want)
	}
	if got := m.eval(ReleaseSet, keys[:1], ours, "client-9"); fmt.Sprint(got) != "[3 1 1]" {
		t.Errorf("%v: not known to be another's", got)
	}
	// A client that does not listen is dropped.
	keys = m.keysWithQueues("oo")
	if got := fmt.Sprint(m.eval(ReleaseSet, keys, ours, "client-1")); got != "[1 1 0 2 2]" {
		t.Errorf("%s", got)
	}
	// Readers come before writers, as after any writer's release.
	keys = m.keysWithQueues("o")
	m.do("ZADD", "redquorum:q:1:{"+keys[0]+"}:readers", 2, "reader")
	message := next(whole.hears("reader"), func() { m.eval(ReleaseSet, keys, ours, "client-0") })
	if want := "redquorum:r:" + keys[0]; message != want {
		t.Errorf("a reader was told %q, want %q", message, want)
	}
	// A key that is no queue is left alone, and does not prevent the release.
	keys = m.make("oo")
	m.do("SET", "redquorum:q:1:{"+keys[0]+"}", "x")
	if got := fmt.Sprint(m.eval(ReleaseSet, keys, ours, "client-1")); got != "[1]" || m.letters(keys) != "--" {
		t.Errorf("%s, and the locks are %q", got, m.letters(keys))
	}
}
