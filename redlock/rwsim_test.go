package redlock_test

import (
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/internal/script"
)

// intentKey is the key with the writers that wait for a lock.
func intentKey(key string) string { return "redquorum:intent:1:" + key }

// members returns the members of the sorted set at a key of a master; none if the key has another
// type.
func (s *sim) members(i int, key string) []string {
	s.T.Helper()
	if s.Ask(i, "TYPE", key) != "zset" {
		return nil
	}
	members, err := redis.Strings(s.Ask(i, "ZRANGE", key, 0, -1), nil)
	if err != nil {
		s.T.Fatal(err)
	}
	return members
}

// readingOn counts the masters on which the token is among the readers of key.
func (s *sim) readingOn(key, token string) (n int) {
	s.T.Helper()
	for i := range s.All {
		for _, member := range s.members(i, key) {
			if member == token {
				n++
			}
		}
	}
	return n
}

// crashed adds the reader of a process that has crashed: nothing renews or releases it.
func (s *sim) crashed(key string, ttl time.Duration) (token string) {
	args := script.ReaderAcquire.Args(nil, []string{key, "redquorum:intent:1:" + key}, "crashed", ttl.Milliseconds(), time.Minute.Milliseconds())
	s.do("EVAL", script.ReaderAcquire.EvalArgs(args)...)
	return "crashed"
}
