package script

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/internal/redistest"
)

// The scripts for several keys, in memory and on a real server.

// A server runs scripts.
type server struct {
	t    *testing.T
	conn redis.Conn
}

func onEachServer(t *testing.T, test func(t *testing.T, s *server)) {
	t.Helper()
	t.Run("in memory", func(t *testing.T) { test(t, &server{t, newMaster(t).conn}) })
	t.Run("real", func(t *testing.T) {
		conn, err := redistest.Start(t, 1, redistest.Config{}).Masters[0].Dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		test(t, &server{t, conn})
	})
}

func (s *server) do(command string, args ...any) any {
	s.t.Helper()
	reply, err := s.conn.Do(command, args...)
	if err != nil {
		s.t.Fatalf("%s %q: %v", command, args, err)
	}
	return reply
}

// run executes a script by its SHA, and by its text where that is not known.
func (s *server) run(script *Script, keys []any, args ...any) any {
	s.t.Helper()
	reply, err := s.conn.Do("EVALSHA", script.Args(nil, keys, args...)...)
	var refused redis.Error
	if errors.As(err, &refused) && strings.HasPrefix(string(refused), "NOSCRIPT") {
		reply, err = s.conn.Do("EVAL", script.EvalArgs(script.Args(nil, keys, args...))...)
	}
	if err != nil {
		s.t.Fatalf("%s: %v", script.Name, err)
	}
	return reply
}

// ttl is that of all calls here, in milliseconds.
const ttl = 10_000

// make sets up keys, a letter each for what it is:
//
//   - "-" missing
//   - "o" ours, with 5 s left
//   - "l" ours, with 60 s left
//   - "n" ours, without expiry
//   - "a" another's string, with 5 s left
//   - "b" another's string, without expiry
//   - "h" a hash, "z" a sorted set, with 5 s left
func (s *server) make(states string) (keys []any) {
	s.t.Helper()
	s.do("FLUSHALL")
	for i, state := range states {
		key := fmt.Sprintf("key-%d:{x}", i)
		keys = append(keys, key)
		switch state {
		case 'o':
			s.do("SET", key, ours, "PX", 5000)
		case 'l':
			s.do("SET", key, ours, "PX", 60_000)
		case 'n':
			s.do("SET", key, ours)
		case 'a':
			s.do("SET", key, other, "PX", 5000)
		case 'b':
			s.do("SET", key, other)
		case 'h':
			s.do("HSET", key, ours, ours)
			s.do("PEXPIRE", key, 5000)
		case 'z':
			s.do("ZADD", key, 1, ours)
			s.do("PEXPIRE", key, 5000)
		}
	}
	return keys
}

// state tells what the keys have become, in the same letters, and "O" for ours
// with the TTL of the calls. TTLs run on while a real server is asked, by much
// less than a second of 5, 10 or 60.
func (s *server) state(keys []any) string {
	s.t.Helper()
	var states strings.Builder
	for _, key := range keys {
		kind := s.do("TYPE", key)
		left := s.do("PTTL", key).(int64)
		value := ""
		if kind == "string" {
			value = string(s.do("GET", key).([]byte))
		}
		is := func(ms int64) bool { return ms-1000 < left && left <= ms }
		state := '?'
		switch {
		case kind == "none":
			state = '-'
		case kind == "hash" && is(5000):
			state = 'h'
		case kind == "zset" && is(5000):
			state = 'z'
		case value == other && is(5000):
			state = 'a'
		case value == other && left == -1:
			state = 'b'
		case value == ours && left == -1:
			state = 'n'
		case value == ours && is(5000):
			state = 'o'
		case value == ours && is(60_000):
			state = 'l'
		case value == ours && is(ttl):
			state = 'O'
		}
		states.WriteRune(state)
	}
	return states.String()
}

func TestScriptsForSeveralKeys(t *testing.T) {
	onEachServer(t, func(t *testing.T, s *server) {
		for _, test := range []struct {
			script *Script
			args   []any
			before string
			want   int64
			after  string
		}{
			// All or none, and nothing written where it is none.
			{AcquireAll, []any{ours, ttl}, "-", 1, "O"},
			{AcquireAll, []any{ours, ttl}, "---", 1, "OOO"},
			{AcquireAll, []any{ours, ttl}, "a--", 0, "a--"},
			{AcquireAll, []any{ours, ttl}, "-a-", 0, "-a-"},
			{AcquireAll, []any{ours, ttl}, "--b", 0, "--b"},
			{AcquireAll, []any{ours, ttl}, "--h", 0, "--h"},
			{AcquireAll, []any{ours, ttl}, "z--", 0, "z--"},
			{AcquireAll, []any{ours, ttl}, "aaa", 0, "aaa"},
			{AcquireAll, []any{ours, ttl}, "-o-", 0, "-o-"},

			// The first that is free, and no other.
			{AcquireAny, []any{ours, ttl}, "---", 1, "O--"},
			{AcquireAny, []any{ours, ttl}, "a--", 2, "aO-"},
			{AcquireAny, []any{ours, ttl}, "ab-", 3, "abO"},
			{AcquireAny, []any{ours, ttl}, "hz-", 3, "hzO"},
			{AcquireAny, []any{ours, ttl}, "-aa", 1, "Oaa"},
			{AcquireAny, []any{ours, ttl}, "abh", 0, "abh"},
			{AcquireAny, []any{ours, ttl}, "z", 0, "z"},
			{AcquireAny, []any{ours, ttl}, "o-", 2, "oO"},

			// Prolonged, never shortened; set again where nobody else is.
			{ExtendAll, []any{ours, ttl, "1"}, "ooo", 1, "OOO"},
			{ExtendAll, []any{ours, ttl, "1"}, "lon", 1, "lOO"},
			{ExtendAll, []any{ours, ttl, "1"}, "o-o", 2, "OOO"},
			{ExtendAll, []any{ours, ttl, "1"}, "l--", 2, "lOO"},
			{ExtendAll, []any{ours, ttl, "1"}, "---", 2, "OOO"},
			{ExtendAll, []any{ours, ttl, "1"}, "oao", 0, "OaO"},
			{ExtendAll, []any{ours, ttl, "1"}, "o-a", 0, "O-a"},
			{ExtendAll, []any{ours, ttl, "1"}, "o-h", 0, "O-h"},
			{ExtendAll, []any{ours, ttl, "1"}, "z--", 0, "z--"},
			{ExtendAll, []any{ours, ttl, "1"}, "ab", 0, "ab"},
			{ExtendAll, []any{ours, ttl, "0"}, "ool", 1, "OOl"},
			{ExtendAll, []any{ours, ttl, "0"}, "o-o", 3, "O-O"},
			{ExtendAll, []any{ours, ttl, "0"}, "o-a", 0, "O-a"},
			{ExtendAll, []any{ours, ttl, "yes"}, "--", 3, "--"},

			{VerifyAll, []any{ours}, "olo", 1, "olo"},
			{VerifyAll, []any{ours}, "o-o", 3, "o-o"},
			{VerifyAll, []any{ours}, "--", 3, "--"},
			{VerifyAll, []any{ours}, "o-a", 0, "o-a"},
			{VerifyAll, []any{ours}, "a-o", 0, "a-o"},
			{VerifyAll, []any{ours}, "oh", 0, "oh"},
			{VerifyAll, []any{ours}, "oz-", 0, "oz-"},

			// Ours go, whatever became of the others.
			{ReleaseAll, []any{ours}, "olo", 1, "---"},
			{ReleaseAll, []any{ours}, "o", 1, "-"},
			{ReleaseAll, []any{ours}, "o-n", 3, "---"},
			{ReleaseAll, []any{ours}, "---", 3, "---"},
			{ReleaseAll, []any{ours}, "oao", 0, "-a-"},
			{ReleaseAll, []any{ours}, "-bo", 0, "-b-"},
			{ReleaseAll, []any{ours}, "hoz", 0, "h-z"},
			{ReleaseAll, []any{ours}, "ab", 0, "ab"},

			{ReleaseSet, []any{ours, "me"}, "olo", 1, "---"},
			{ReleaseSet, []any{ours, "me"}, "o-n", 3, "---"},
			{ReleaseSet, []any{ours, "me"}, "hoz", 0, "h-z"},
			{ReleaseSet, []any{ours, "me"}, "ab", 0, "ab"},
		} {
			keys := s.make(test.before)
			if got := s.run(test.script, keys, test.args...); got != test.want {
				t.Errorf("%s%q on %q returned %v, want %d", test.script.Name, test.args[1:], test.before, got, test.want)
			}
			if got := s.state(keys); got != test.after {
				t.Errorf("%s%q made %q of %q, want %q", test.script.Name, test.args[1:], got, test.before, test.after)
			}
		}
	})
}

// Tokens are compared byte for byte, as long as they are.
func TestScriptsForSeveralKeysTakeNoOtherTokenForOurs(t *testing.T) {
	onEachServer(t, func(t *testing.T, s *server) {
		for _, token := range []string{ours + "x", ours[:len(ours)-1], "", strings.ToUpper(ours)} {
			for _, test := range []struct {
				script *Script
				args   []any
			}{{ExtendAll, []any{ours, ttl, "1"}}, {VerifyAll, []any{ours}}, {ReleaseAll, []any{ours}}} {
				keys := s.make("-o")
				s.do("SET", keys[0], token, "PX", 60_000)
				if got := s.run(test.script, keys, test.args...); got != int64(0) {
					t.Errorf("%s returned %v for the token %q, want 0", test.script.Name, got, token)
				}
				if got := string(s.do("GET", keys[0]).([]byte)); got != token {
					t.Errorf("%s made %q of the token %q", test.script.Name, got, token)
				}
			}
		}
	})
}

func TestHolderAmongNamesTheKeyInTheWay(t *testing.T) {
	onEachServer(t, func(t *testing.T, s *server) {
		for _, test := range []struct {
			which, before string
			kind, value   string
			key           int // -1: any
		}{
			{"last", "-a-", "string", other, 1},
			{"last", "al-", "string", ours, 1},
			{"last", "lba", "string", other, 1}, // never expires
			{"last", "-h-", "hash", "", 1},
			{"last", "---", "none", "", -1},
			{"first", "la", "string", other, 1},
			{"first", "bl", "string", ours, 1},
			{"first", "bb", "string", other, 0},
			{"first", "lz", "zset", "", 1},
			{"first", "l-b", "none", "", 1},
		} {
			keys := s.make(test.before)
			reply := s.run(HolderAmong, keys, test.which).([]any)
			if len(reply) != 4 {
				t.Fatalf("%s of %q: %q", test.which, test.before, reply)
			}
			want := []any{[]byte(test.kind), []byte(test.value)}
			if !reflect.DeepEqual(reply[:2], want) {
				t.Errorf("%s of %q: %q, want %q", test.which, test.before, reply, want)
			}
			if test.key >= 0 && string(reply[3].([]byte)) != keys[test.key] {
				t.Errorf("%s of %q: names %q, want number %d", test.which, test.before, reply[3], test.key)
			}
			if _, ok := reply[2].(int64); !ok {
				t.Errorf("%s of %q: a TTL of %v", test.which, test.before, reply[2])
			}
			if got := s.state(keys); got != test.before {
				t.Errorf("%s made %q of %q", test.which, got, test.before)
			}
		}
		long := strings.Repeat("x", 1000)
		keys := s.make("-")
		s.do("SET", keys[0], long, "PX", 5000)
		if reply := s.run(HolderAmong, keys, "last").([]any); string(reply[1].([]byte)) != long[:256] {
			t.Errorf("a value of 1000 bytes is told as %q", reply[1])
		}
	})
}

// As many keys as a call may name, and more.
func TestScriptsForSeveralKeysTakeHundreds(t *testing.T) {
	onEachServer(t, func(t *testing.T, s *server) {
		keys := s.make(strings.Repeat("-", 500))
		for _, step := range []struct {
			script *Script
			args   []any
			want   int64
		}{
			{AcquireAll, []any{ours, ttl}, 1},
			{AcquireAny, []any{ours, ttl}, 0},
			{ExtendAll, []any{ours, ttl, "1"}, 1},
			{VerifyAll, []any{ours}, 1},
			{ReleaseAll, []any{ours}, 1},
			{ReleaseAll, []any{ours}, 3},
			{ExtendAll, []any{ours, ttl, "1"}, 2},
			{ReleaseAll, []any{ours}, 1},
		} {
			if got := s.run(step.script, keys, step.args...); got != step.want {
				t.Errorf("%s of %d keys returned %v, want %d", step.script.Name, len(keys), got, step.want)
			}
		}
	})
}
