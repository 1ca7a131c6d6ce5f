package script

import (
	"errors"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/gomodule/redigo/redis"
)

const (
	key   = "orders:{42}"
	ours  = "ours\x00\r\n\xff"
	other = "theirs"
)

// A master runs scripts as Lua, in memory.
type master struct {
	*miniredis.Miniredis
	t    *testing.T
	conn redis.Conn
}

func newMaster(t *testing.T) *master {
	t.Helper()
	m := miniredis.RunT(t)
	conn, err := redis.Dial("tcp", m.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &master{m, t, conn}
}

// run executes a script, by its text and then by its SHA on the same data.
func (m *master) run(s *Script, args ...any) any {
	m.t.Helper()
	reply, err := m.conn.Do("EVALSHA", s.Args(nil, []any{key}, args...)...)
	var refused redis.Error
	if errors.As(err, &refused) && strings.HasPrefix(string(refused), "NOSCRIPT") {
		reply, err = m.conn.Do("EVAL", s.EvalArgs(s.Args(nil, []any{key}, args...))...)
	}
	if err != nil {
		m.t.Fatalf("%s: %v", s.Name, err)
	}
	return reply
}

func (m *master) do(cmd string, args ...any) any {
	m.t.Helper()
	reply, err := m.conn.Do(cmd, args...)
	if err != nil {
		m.t.Fatalf("%s: %v", cmd, err)
	}
	return reply
}

// holds checks what is at the lock's name, and for how long; value "": nothing.
func (m *master) holds(value string, ttl time.Duration) {
	m.t.Helper()
	switch {
	case !m.Exists(key):
		if value != "" {
			m.t.Errorf("the key is gone, want %q", value)
		}
	case value == "":
		m.t.Error("the key is there, want none")
	default:
		if got, err := m.Get(key); err != nil || got != value {
			m.t.Errorf("the key holds %q (%v), want %q", got, err, value)
		}
		if got := m.TTL(key); got != ttl {
			m.t.Errorf("it expires in %v, want %v", got, ttl)
		}
	}
}

// set makes a lock as SET key token NX PX does.
func (m *master) set(token string, ttl time.Duration) {
	m.t.Helper()
	m.do("SET", key, token, "PX", ttl.Milliseconds())
}

// otherTypes are ways to have a key of another type at the lock's name.
var otherTypes = map[string][]any{
	"hash":   {"HSET", key, "field", ours},
	"list":   {"RPUSH", key, ours},
	"set":    {"SADD", key, ours},
	"zset":   {"ZADD", key, 1, ours},
	"stream": {"XADD", key, "1-1", "field", ours},
}

// eachOtherType runs a script with each of them at the lock's name. It must
// return want and change nothing.
func eachOtherType(t *testing.T, s *Script, want int64, args ...any) {
	t.Helper()
	for kind, command := range otherTypes {
		t.Run(kind, func(t *testing.T) {
			m := newMaster(t)
			m.do(command[0].(string), command[1:]...)
			m.do("PEXPIRE", key, 5000)
			before := m.Dump()
			if got := m.run(s, args...); got != want {
				t.Errorf("returned %v, want %d", got, want)
			}
			if after := m.Dump(); after != before || m.TTL(key) != 5*time.Second {
				t.Errorf("changed from\n%sto\n%s, expiring in %v", before, after, m.TTL(key))
			}
		})
	}
}

func TestReleaseDeletesOursAndNothingElse(t *testing.T) {
	t.Run("ours", func(t *testing.T) {
		m := newMaster(t)
		m.set(ours, time.Second)
		if got := m.run(Release, ours); got != int64(1) {
			t.Errorf("returned %v, want 1", got)
		}
		m.holds("", 0)
		// A second time, now by its SHA: it is missing.
		if got := m.run(Release, ours); got != int64(3) {
			t.Errorf("returned %v, want 3", got)
		}
	})
	for name, token := range map[string]string{
		"another's": other, "a longer one": ours + "x", "a shorter one": ours[:len(ours)-1],
		"an empty one": "", "one in capitals": strings.ToUpper(ours),
	} {
		t.Run(name, func(t *testing.T) {
			m := newMaster(t)
			m.set(token, time.Second)
			if got := m.run(Release, ours); got != int64(0) {
				t.Errorf("returned %v, want 0", got)
			}
			if got, err := m.Get(key); err != nil || got != token || m.TTL(key) != time.Second {
				t.Errorf("the key holds %q (%v) for %v", got, err, m.TTL(key))
			}
		})
	}
	t.Run("missing", func(t *testing.T) {
		m := newMaster(t)
		if got := m.run(Release, ours); got != int64(3) {
			t.Errorf("returned %v, want 3", got)
		}
	})
	t.Run("expired", func(t *testing.T) {
		m := newMaster(t)
		m.set(ours, time.Second)
		m.FastForward(time.Second)
		if got := m.run(Release, ours); got != int64(3) {
			t.Errorf("returned %v, want 3", got)
		}
	})
	t.Run("of another type", func(t *testing.T) { eachOtherType(t, Release, 0, ours) })
}

func TestExtendProlongsAndNeverShortens(t *testing.T) {
	for _, again := range []string{"1", "0", ""} {
		for _, test := range []struct{ has, asked, want time.Duration }{
			{time.Second, 10 * time.Second, 10 * time.Second},
			{10 * time.Second, time.Second, 10 * time.Second},
			{10 * time.Second, 10 * time.Second, 10 * time.Second},
			{9999 * time.Millisecond, 10 * time.Second, 10 * time.Second},
			{10001 * time.Millisecond, 10 * time.Second, 10001 * time.Millisecond},
			{time.Millisecond, 24 * time.Hour, 24 * time.Hour},
		} {
			t.Run(test.has.String()+" to "+test.asked.String()+", set again: "+strconv.Quote(again), func(t *testing.T) {
				m := newMaster(t)
				m.set(ours, test.has)
				if got := m.run(Extend, ours, test.asked.Milliseconds(), again); got != int64(1) {
					t.Errorf("returned %v, want 1", got)
				}
				m.holds(ours, test.want)
			})
		}
	}
}

// Somebody made it last: with an expiry it cannot outlive its holder.
func TestExtendGivesAnExpiryToAKeyOfOursThatHasNone(t *testing.T) {
	m := newMaster(t)
	m.do("SET", key, ours)
	if got := m.run(Extend, ours, 10_000, "1"); got != int64(1) {
		t.Errorf("returned %v, want 1", got)
	}
	m.holds(ours, 10*time.Second)
}

func TestExtendSetsAMissingKeyAgainOnlyIfAsked(t *testing.T) {
	t.Run("asked", func(t *testing.T) {
		m := newMaster(t)
		if got := m.run(Extend, ours, 10_000, "1"); got != int64(2) {
			t.Errorf("returned %v, want 2", got)
		}
		m.holds(ours, 10*time.Second)
		// It counts from the next extension on (invariant S6).
		if got := m.run(Extend, ours, 10_000, "1"); got != int64(1) {
			t.Errorf("returned %v, want 1", got)
		}
	})
	for _, again := range []string{"0", "", "11", "true"} {
		t.Run("not asked: "+strconv.Quote(again), func(t *testing.T) {
			m := newMaster(t)
			if got := m.run(Extend, ours, 10_000, again); got != int64(3) {
				t.Errorf("returned %v, want 3", got)
			}
			m.holds("", 0)
		})
	}
	t.Run("expired", func(t *testing.T) {
		m := newMaster(t)
		m.set(ours, time.Second)
		m.FastForward(time.Second)
		if got := m.run(Extend, ours, 10_000, "0"); got != int64(3) {
			t.Errorf("returned %v, want 3", got)
		}
		m.holds("", 0)
	})
}

func TestExtendLeavesAnothersLockAlone(t *testing.T) {
	for _, again := range []string{"1", "0"} {
		for _, token := range []string{other, ours + "x", ours[:1], ""} {
			t.Run(strconv.Quote(token)+", set again: "+again, func(t *testing.T) {
				m := newMaster(t)
				m.set(token, time.Second)
				if got := m.run(Extend, ours, 10_000, again); got != int64(0) {
					t.Errorf("returned %v, want 0", got)
				}
				if got, err := m.Get(key); err != nil || got != token || m.TTL(key) != time.Second {
					t.Errorf("the key holds %q (%v) for %v", got, err, m.TTL(key))
				}
			})
		}
		t.Run("of another type, set again: "+again, func(t *testing.T) { eachOtherType(t, Extend, 0, ours, 10_000, again) })
	}
}

func TestVerifyLooksAndChangesNothing(t *testing.T) {
	for name, test := range map[string]struct {
		token string // "": none
		want  int64
	}{
		"ours": {ours, 1}, "another's": {other, 0}, "a longer one": {ours + "x", 0}, "missing": {"", 3},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMaster(t)
			if test.token != "" {
				m.set(test.token, time.Second)
			}
			if got := m.run(Verify, ours); got != test.want {
				t.Errorf("returned %v, want %d", got, test.want)
			}
			m.holds(test.token, time.Second)
		})
	}
	t.Run("of another type", func(t *testing.T) { eachOtherType(t, Verify, 0, ours) })
}

func TestHolderTellsTypeValueAndTTL(t *testing.T) {
	check := func(t *testing.T, m *master, kind, value string, ttl int64) {
		t.Helper()
		before := m.Dump()
		want := []any{[]byte(kind), []byte(value), ttl}
		if got := m.run(Holder); !reflect.DeepEqual(got, want) {
			t.Errorf("returned %q, want %q", got, want)
		}
		if after := m.Dump(); after != before {
			t.Errorf("changed from\n%sto\n%s", before, after)
		}
	}
	t.Run("a string", func(t *testing.T) {
		m := newMaster(t)
		m.set(ours, 1234*time.Millisecond)
		check(t, m, "string", ours, 1234)
	})
	t.Run("an empty string", func(t *testing.T) {
		m := newMaster(t)
		m.set("", time.Second)
		check(t, m, "string", "", 1000)
	})
	t.Run("a string without expiry", func(t *testing.T) {
		m := newMaster(t)
		m.do("SET", key, other)
		check(t, m, "string", other, -1)
	})
	t.Run("missing", func(t *testing.T) { check(t, newMaster(t), "none", "", -2) })
	for kind, command := range otherTypes {
		t.Run(kind, func(t *testing.T) {
			m := newMaster(t)
			m.do(command[0].(string), command[1:]...)
			m.do("PEXPIRE", key, 5000)
			check(t, m, kind, "", 5000)
		})
	}
	for _, n := range []int{255, 256, 257, 100_000} {
		t.Run("a string of "+strconv.Itoa(n)+" bytes", func(t *testing.T) {
			m := newMaster(t)
			value := strings.Repeat("0123456789abcdef", n/16+1)[:n]
			m.set(value, time.Second)
			check(t, m, "string", value[:min(n, 256)], 1000)
		})
	}
}

// The SHA that a master names a script by is ours, so EVALSHA finds it.
func TestAMasterKnowsAScriptByItsSHA(t *testing.T) {
	m := newMaster(t)
	for _, s := range All {
		if got, err := redis.String(m.conn.Do("SCRIPT", "LOAD", s.Source)); err != nil || got != s.SHA {
			t.Errorf("%s: the master says %q (%v), want %s", s.Name, got, err, s.SHA)
		}
	}
	m.set(ours, time.Second)
	if got, err := m.conn.Do("EVALSHA", Verify.Args(nil, []any{key}, ours)...); err != nil || got != int64(1) {
		t.Errorf("returned %v, %v", got, err)
	}
}

func TestInspectTellsTypeTTLValueAndReaders(t *testing.T) {
	check := func(t *testing.T, m *master, most int, want ...any) {
		t.Helper()
		before := m.Dump()
		if got := m.run(Inspect, most); !reflect.DeepEqual(got, want) {
			t.Errorf("returned %q, want %q", got, want)
		}
		if after := m.Dump(); after != before {
			t.Errorf("changed from\n%sto\n%s", before, after)
		}
	}
	b := func(s string) []byte { return []byte(s) }
	t.Run("missing", func(t *testing.T) { check(t, newMaster(t), 9, b("none"), int64(-2), b(""), int64(0)) })
	t.Run("a string", func(t *testing.T) {
		m := newMaster(t)
		m.set(ours, 1234*time.Millisecond)
		check(t, m, 9, b("string"), int64(1234), b(ours), int64(0))
	})
	t.Run("a long string", func(t *testing.T) {
		m := newMaster(t)
		m.do("SET", key, strings.Repeat("x", 1000))
		check(t, m, 9, b("string"), int64(-1), b(strings.Repeat("x", 256)), int64(0))
	})
	for kind, command := range otherTypes {
		t.Run(kind, func(t *testing.T) {
			m := newMaster(t)
			m.do(command[0].(string), command[1:]...)
			m.do("PEXPIRE", key, 5000)
			check(t, m, 9, b(kind), int64(5000), b(""), int64(0)) // the sorted set's score is long over
		})
	}
	t.Run("readers", func(t *testing.T) {
		m := newMaster(t)
		now := time.UnixMilli(1_790_000_000_000)
		m.SetTime(now)
		at := func(d time.Duration) int64 { return now.Add(d).UnixMilli() }
		long := strings.Repeat("r", 300)
		m.do("ZADD", key, at(2*time.Second), ours, at(9*time.Second), long, at(0), "over", at(-time.Second), "long over", "+inf", "for ever", at(time.Millisecond), "nearly")
		m.do("PEXPIRE", key, 9000)
		year := int64(365 * 24 * time.Hour / time.Millisecond)
		all := []any{b("zset"), int64(9000), b(""), int64(4), b("for ever"), year, b(long[:256]), int64(9000), b(ours), int64(2000), b("nearly"), int64(1)}
		check(t, m, 9, all...)
		check(t, m, 2, all[:8]...)
		check(t, m, 0, all[:4]...)
	})
}
