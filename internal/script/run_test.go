package script

import (
	"errors"
	"reflect"
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

// A lua runs scripts on a master. test/fidelity shows that embedded masters run them as
// redis-server does.
type lua struct {
	t    *testing.T
	conn redis.Conn
}

func (m *lua) do(cmd string, args ...any) any {
	m.t.Helper()
	reply, err := m.conn.Do(cmd, args...)
	if err != nil {
		m.t.Fatalf("%s %q: %v", cmd, args, err)
	}
	return reply
}

// eval executes a script by its SHA, and by its text where that is not known.
func (m *lua) eval(s *Script, keys []string, args ...any) any {
	m.t.Helper()
	reply, err := m.conn.Do("EVALSHA", s.Args(nil, keys, args...)...)
	var refused redis.Error
	if errors.As(err, &refused) && strings.HasPrefix(string(refused), "NOSCRIPT") {
		reply, err = m.conn.Do("EVAL", s.EvalArgs(s.Args(nil, keys, args...))...)
	}
	if err != nil {
		m.t.Fatalf("%s: %v", s.Name, err)
	}
	return reply
}

// want checks what a script has returned: one number, or a list of them.
func (m *lua) want(what string, got any, want ...int64) {
	m.t.Helper()
	var all any = want[0]
	if len(want) > 1 {
		list := make([]any, len(want))
		for i, n := range want {
			list[i] = n
		}
		all = list
	}
	if !reflect.DeepEqual(got, all) {
		m.t.Errorf("%s returned %v, want %v", what, got, want)
	}
}

// A master runs scripts as Lua, in memory.
type master struct {
	*miniredis.Miniredis
	*lua
}

func newMaster(t *testing.T) *master {
	t.Helper()
	m := miniredis.RunT(t)
	conn, err := redis.Dial("tcp", m.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &master{m, &lua{t, conn}}
}

// run executes a script for the lock alone.
func (m *master) run(s *Script, args ...any) any {
	m.t.Helper()
	return m.eval(s, []string{key}, args...)
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

// unchanged fails if f changes anything.
func (m *master) unchanged(f func()) {
	m.t.Helper()
	before, expires := m.Dump(), m.TTL(key)
	f()
	if after := m.Dump(); after != before || m.TTL(key) != expires {
		m.t.Errorf("changed from\n%sto\n%s, expiring in %v, before in %v", before, after, m.TTL(key), expires)
	}
}

// otherTypes are ways to have a key of another type at the lock's name.
var otherTypes = map[string][]any{
	"hash": {"HSET", key, "field", ours},
	"zset": {"ZADD", key, 1, ours},
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
	if got, err := m.conn.Do("EVALSHA", Verify.Args(nil, []string{key}, ours)...); err != nil || got != int64(1) {
		t.Errorf("returned %v, %v", got, err)
	}
}

// wantReply checks what a script that only looks returns.
func (m *master) wantReply(s *Script, args []any, want ...any) {
	m.t.Helper()
	m.unchanged(func() {
		if got := m.run(s, args...); !reflect.DeepEqual(got, want) {
			m.t.Errorf("%s returned %q, want %q", s.Name, got, want)
		}
	})
}

func TestHolderAndInspectTellTypeValueAndTTL(t *testing.T) {
	type stored struct {
		make        []any
		kind, value string
		ttl         int64
	}
	long := strings.Repeat("r", 257)
	tests := map[string]stored{
		"missing":                 {nil, "none", "", -2},
		"a string without expiry": {[]any{"SET", key, ours}, "string", ours, -1},
		"a string of 257 bytes":   {[]any{"SET", key, long}, "string", long[:256], -1},
	}
	for kind, command := range otherTypes { // the sorted set's score is long past
		tests[kind] = stored{command, kind, "", -1}
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := newMaster(t)
			look := func(ttl int64) {
				t.Helper()
				m.wantReply(Holder, nil, []byte(test.kind), []byte(test.value), ttl)
				m.wantReply(Inspect, []any{9}, []byte(test.kind), ttl, []byte(test.value), int64(0))
			}
			if test.make != nil {
				m.do(test.make[0].(string), test.make[1:]...)
			}
			look(test.ttl)
			if test.ttl == -1 {
				m.do("PEXPIRE", key, 5000)
				look(5000)
			}
		})
	}
}

func TestInspectTellsReaders(t *testing.T) {
	m := newMaster(t)
	now := time.UnixMilli(1_790_000_000_000)
	m.SetTime(now)
	at := func(d time.Duration) int64 { return now.Add(d).UnixMilli() }
	b := func(s string) []byte { return []byte(s) }
	long := strings.Repeat("r", 300)
	m.do("ZADD", key, at(2*time.Second), ours, at(9*time.Second), long, at(0), "over", at(-time.Second), "long over", "+inf", "for ever", at(time.Millisecond), "nearly")
	m.do("PEXPIRE", key, 9000)
	year := int64(365 * 24 * time.Hour / time.Millisecond)
	all := []any{b("zset"), int64(9000), b(""), int64(4), b("for ever"), year, b(long[:256]), int64(9000), b(ours), int64(2000), b("nearly"), int64(1)}
	m.wantReply(Inspect, []any{9}, all...)
	m.wantReply(Inspect, []any{2}, all[:8]...)
	m.wantReply(Inspect, []any{0}, all[:4]...)
}
