package script

import (
	"fmt"
	"slices"
	"testing"
)

// each is a lock's letter in states and what release.lua says to ours there.
func (s *server) each(states string) (keys, tokens []any) {
	keys = s.make(states)
	for range states {
		tokens = append(tokens, ours)
	}
	return keys, tokens
}

func TestJoinedReleasesDoWhatEachWouldDo(t *testing.T) {
	const states = "-olnabhz"
	onEachServer(t, func(t *testing.T, s *server) {
		keys, tokens := s.each(states)
		var single []any
		for i, key := range keys {
			single = append(single, s.run(Release, []any{key}, tokens[i]))
		}
		after := s.state(keys)
		keys, tokens = s.each(states)
		if got, want := fmt.Sprint(s.run(ReleaseEach, keys, append(tokens, "me")...)), fmt.Sprint(single); got != want || s.state(keys) != after {
			t.Errorf("together %s and %q, one by one %s and %q", got, s.state(keys), want, after)
		}
		for i := range tokens { // of other lengths, and nearly ours
			tokens[i] = []string{ours + "x", ours[:len(ours)-1], "", "x" + ours}[i%4]
		}
		keys, _ = s.each(states)
		if got := fmt.Sprint(s.run(ReleaseEach, keys, append(tokens, "me")...)); got != "[3 0 0 0 0 0 0 0]" || s.state(keys) != states {
			t.Errorf("by other tokens: %s and %q", got, s.state(keys))
		}
		// A rollback and the release of the attempt behind it.
		s.do("FLUSHALL")
		s.do("SET", "k", "second")
		if got := fmt.Sprint(s.run(ReleaseEach, []any{"k", "k"}, "first", "second", "me")); got != "[0 1]" {
			t.Error(got)
		}
	})
}

// In strict the lease of the token goes, of each lock its own, and nothing else.
func TestJoinedReleasesClearTheirLeases(t *testing.T) {
	onEachServer(t, func(t *testing.T, s *server) {
		const states = "oa-on"
		prepare := func() (keys, queues, leases, tokens []any) {
			keys, tokens = s.each(states)
			for i, key := range keys {
				lease := fmt.Sprint("lease-", i)
				queues, leases = append(queues, queueName(key)), append(leases, lease)
				s.do("ZADD", lease, -1, ours, -2, other)
			}
			s.do("DEL", "lease-3")
			s.do("SET", "lease-3", "no record")
			return keys, queues, leases, tokens
		}
		left := func(leases []any) (all []string) {
			for i, lease := range leases {
				if i == 3 {
					all = append(all, string(s.do("GET", lease).([]byte)))
					continue
				}
				all = append(all, fmt.Sprintf("%s", s.do("ZRANGE", lease, 0, -1)))
			}
			return all
		}
		keys, _, leases, tokens := prepare()
		var single []any
		for i, key := range keys {
			single = append(single, s.run(GuardedRelease, []any{key, leases[i]}, tokens[i]))
		}
		after, want := s.state(keys), fmt.Sprint(left(leases))
		for _, heirs := range []bool{false, true} {
			keys, queues, leases, tokens := prepare()
			var codes any
			if heirs {
				codes = s.run(ReleaseLeases, slices.Concat(keys, queues[:2], leases), append(tokens, "me")...)
			} else {
				codes = s.run(ReleaseLeases, slices.Concat(keys, leases), append(tokens, "me")...)
			}
			if fmt.Sprint(codes) != fmt.Sprint(single) || s.state(keys) != after || fmt.Sprint(left(leases)) != want {
				t.Errorf("together %v, %q and %s; one by one %v, %q and %s", codes, s.state(keys), left(leases), single, after, want)
			}
		}
	})
}

// Each queue is handed over by the release of its own lock, as one by one.
func TestJoinedReleasesHandOver(t *testing.T) {
	onEachServer(t, func(t *testing.T, s *server) {
		queues := func(states string) (keys, all, args []any) {
			keys, _ = s.keysWithQueues(states)
			s.do("DEL", queueName(keys[1]))
			s.do("SET", queueName(keys[2]), "no queue")
			for _, key := range keys {
				all = append(all, queueName(key))
				args = append(args, ours)
			}
			return keys, append(append([]any{}, keys...), all...), append(args, "client-3")
		}
		const states = "ooooa-z"
		keys, _, _ := queues(states)
		var single []any
		for _, key := range keys {
			single = append(single, s.run(Queue, []any{key, queueName(key)}, "release", "client-3", ours))
		}
		after := s.state(keys)
		keys, all, args := queues(states)
		if got, want := fmt.Sprint(s.run(ReleaseEach, all, args...)), fmt.Sprint(single); got != want || s.state(keys) != after {
			t.Errorf("together %s and %q, one by one %s and %q", got, s.state(keys), want, after)
		}
		if want := "[1 1 1 21 0 3 0]"; fmt.Sprint(single) != want { // nobody listens but who releases
			t.Errorf("one by one %v, want %s", single, want)
		}
		keys, _ = s.each("oa-")
		if got := fmt.Sprint(s.run(ReleaseEach, append(append([]any{}, keys...), "q1", "q2"), ours, ours, ours, "me")); got != "[1 0 3]" {
			t.Errorf("without queues: %s", got)
		}
	})
}

func queueName(key any) any { return fmt.Sprintf("redquorum:q:1:{%s}", key) }
