package script

import (
	"fmt"
	"slices"
	"testing"
)

// each makes locks as make does, and returns our token for each of them.
func (m *lua) each(states string) (keys []string, tokens []any) {
	keys = m.make(states)
	for range states {
		tokens = append(tokens, ours)
	}
	return keys, tokens
}

func TestJoinedReleasesDoWhatEachWouldDo(t *testing.T) {
	const states = "-olnabhz"
	m := newMaster(t).lua
	keys, tokens := m.each(states)
	var single []any
	for i, key := range keys {
		single = append(single, m.eval(Release, []string{key}, tokens[i]))
	}
	after := m.letters(keys)
	keys, tokens = m.each(states)
	if got, want := fmt.Sprint(m.eval(ReleaseBatch, keys, append(tokens, "me")...)), fmt.Sprint(single); got != want || m.letters(keys) != after {
		t.Errorf("together %s and %q, one by one %s and %q", got, m.letters(keys), want, after)
	}
	for i := range tokens { // of other lengths, and nearly ours
		tokens[i] = []string{ours + "x", ours[:len(ours)-1], "", "x" + ours}[i%4]
	}
	keys, _ = m.each(states)
	if got := fmt.Sprint(m.eval(ReleaseBatch, keys, append(tokens, "me")...)); got != "[3 0 0 0 0 0 0 0]" || m.letters(keys) != states {
		t.Errorf("by other tokens: %s and %q", got, m.letters(keys))
	}
	// A rollback, and the release of the attempt after it.
	m.do("FLUSHALL")
	m.do("SET", "k", "second")
	if got := fmt.Sprint(m.eval(ReleaseBatch, []string{"k", "k"}, "first", "second", "me")); got != "[0 1]" {
		t.Error(got)
	}
}

// In strict each lock's lease of its own token is cleared, and nothing else.
func TestJoinedReleasesClearTheirLeases(t *testing.T) {
	m := newMaster(t).lua
	const states = "oa-oo"
	prepare := func() (keys, queues, leases []string, tokens []any) {
		keys = m.make(states)
		for i, key := range keys {
			lease, token := fmt.Sprint("lease-", i), fmt.Sprint("token-", i)
			queues, leases, tokens = append(queues, queueName(key)), append(leases, lease), append(tokens, token)
			if states[i] == 'o' {
				m.do("SET", key, token, "KEEPTTL")
			}
			m.do("ZADD", lease, -1, token, -2, other)
		}
		m.do("DEL", "lease-3")
		m.do("SET", "lease-3", "no record")
		return keys, queues, leases, tokens
	}
	left := func(leases []string) (all []string) {
		for i, lease := range leases {
			if i == 3 {
				all = append(all, string(m.do("GET", lease).([]byte)))
				continue
			}
			all = append(all, fmt.Sprintf("%s", m.do("ZRANGE", lease, 0, -1)))
		}
		return all
	}
	keys, _, leases, tokens := prepare()
	var single []any
	for i, key := range keys {
		single = append(single, m.eval(GuardedRelease, []string{key, leases[i]}, tokens[i]))
	}
	after, want := m.letters(keys), fmt.Sprint(left(leases))
	for _, heirs := range []bool{false, true} {
		keys, queues, leases, tokens := prepare()
		var codes any
		if heirs {
			codes = m.eval(ReleaseLeases, slices.Concat(keys, queues[:2], leases), append(tokens, "me")...)
		} else {
			codes = m.eval(ReleaseLeases, slices.Concat(keys, leases), append(tokens, "me")...)
		}
		if fmt.Sprint(codes) != fmt.Sprint(single) || m.letters(keys) != after || fmt.Sprint(left(leases)) != want {
			t.Errorf("together %v, %q and %s; one by one %v, %q and %s", codes, m.letters(keys), left(leases), single, after, want)
		}
	}
}

// The release of a lock hands over its own queue, as it does when sent alone.
func TestJoinedReleasesHandOver(t *testing.T) {
	whole := newMaster(t)
	m := whole.lua
	queues := func(states string) (keys, all []string, args []any) {
		keys = m.keysWithQueues(states)
		m.do("DEL", queueName(keys[1]))
		m.do("SET", queueName(keys[2]), "no queue")
		for _, key := range keys {
			all = append(all, queueName(key))
			args = append(args, ours)
		}
		return keys, slices.Concat(keys, all), append(args, "client-3")
	}
	const states = "ooooa-z"
	keys, _, _ := queues(states)
	var single []any
	for _, key := range keys {
		single = append(single, m.eval(Queue, []string{key, queueName(key)}, "release", "client-3", ours))
	}
	after := m.letters(keys)
	keys, all, args := queues(states)
	if got, want := fmt.Sprint(m.eval(ReleaseBatch, all, args...)), fmt.Sprint(single); got != want || m.letters(keys) != after {
		t.Errorf("together %s and %q, one by one %s and %q", got, m.letters(keys), want, after)
	}
	if want := "[1 1 1 21 0 3 0]"; fmt.Sprint(single) != want { // nobody listens; client-3 releases
		t.Errorf("one by one %v, want %s", single, want)
	}
	keys, _ = m.each("oa-")
	if got := fmt.Sprint(m.eval(ReleaseBatch, append(slices.Clone(keys), "q1", "q2"), ours, ours, ours, "me")); got != "[1 0 3]" {
		t.Errorf("without queues: %s", got)
	}
	// Only readers wait for the second.
	keys, _ = m.each("ao")
	m.do("ZADD", queueName(keys[1])+":readers", 1, "reader")
	all = []string{keys[0], keys[1], queueName(keys[0]), queueName(keys[1])}
	message := next(whole.hears("reader"), func() { m.eval(ReleaseBatch, all, ours, ours, "me") })
	if want := "redquorum:r:" + keys[1]; message != want {
		t.Errorf("a reader was told %q, want %q", message, want)
	}
}

func queueName(key string) string { return fmt.Sprintf("redquorum:q:1:{%s}", key) }
