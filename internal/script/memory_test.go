package script

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/internal/redistest"
)

// A held is a lock on a master, and the script that prolongs it.
type held struct {
	name   string
	extend *Script
	modus  modus
	locks  []string
	reader bool
	before []any // arguments before those that all have
}

// set makes the lock, with its fences and lease records.
func (h held) set(m *lua, token string) {
	m.t.Helper()
	ends := m.now()/1000 + 60_000
	for _, lock := range h.locks {
		score := -ends
		if h.reader {
			score = ends
			m.do("ZADD", lock, ends, token)
			m.do("PEXPIRE", lock, 60_000)
		} else {
			m.do("SET", lock, token, "PX", 60_000)
		}
		if h.modus.fenced {
			m.do("SET", fenceOf+lock, h.modus.number, "PX", 60_000)
		}
		if h.modus.strict {
			m.do("ZADD", leaseOf+lock, score, token)
			m.do("PEXPIRE", leaseOf+lock, 60_000)
		}
	}
}

// prolong runs the script.
func (h held) prolong(m *lua, ttl time.Duration) any {
	m.t.Helper()
	if h.modus == (modus{}) {
		args := append([]any{ours, ttl.Milliseconds(), "1"}, h.before...) // the plain one has it last
		reply, err := m.conn.Do("EVAL", h.extend.EvalArgs(h.extend.Args(nil, h.locks, args...))...)
		if err != nil {
			return err
		}
		return reply
	}
	o := h.modus
	o.third = "1"
	reply := m.guarded(h.extend, o, ours, ttl, o.keys(h.locks), h.before...)
	if parts, ok := reply.([]any); ok {
		return parts[0]
	}
	return reply
}

// holds has every script that prolongs a lock, in every form.
func holds() (all []held) {
	two := []string{"a", "b"}
	longest := []any{time.Hour.Milliseconds()}
	all = []held{
		{name: "plain", extend: Extend, locks: one},
		{name: "set", extend: ExtendAll, locks: two},
		{name: "reader", extend: ReaderExtend, locks: one, reader: true, before: longest},
	}
	for _, o := range []modus{{fenced: true, number: 1_790_000_000_123_456}, {strict: true}, {fenced: true, number: 1_790_000_000_123_456, strict: true}} {
		name := fmt.Sprintf("fenced %t, strict %t: ", o.fenced, o.strict)
		all = append(all,
			held{name: name + "plain", extend: GuardedExtend, modus: o, locks: one},
			held{name: name + "set", extend: GuardedExtendAll, modus: o, locks: two},
			held{name: name + "reader", extend: GuardedReaderExtend, modus: o, locks: one, reader: true, before: longest},
		)
	}
	return all
}

// A master whose memory is full refuses every first write that may need some. Extensions
// begin with one that needs none; what follows it in a script is not refused.
func TestAnExtensionIsNotRefusedForWantOfMemory(t *testing.T) {
	conn, err := redistest.Start(t, 1, redistest.Config{}).Masters[0].Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	m := &lua{t, conn}
	for _, h := range holds() {
		for name, change := range map[string]func(){
			"nothing": func() {},
			"somebody has expired": func() {
				m.do("EVAL", `for _, k in ipairs(KEYS) do if redis.call('TYPE', k).ok == 'zset' then redis.call('ZADD', k, 1, 'gone') end end`, 2, "a", leaseOf+"a")
			},
			"the fence is missing":     func() { m.do("DEL", fenceOf+"a") },
			"the fence has less":       func() { m.do("SET", fenceOf+"a", 5) },
			"the fence has more":       func() { m.do("SET", fenceOf+"a", int64(1_790_000_000_999_999)) },
			"the lease is missing":     func() { m.do("DEL", leaseOf+"a") },
			"all but the lock is gone": func() { m.do("DEL", leaseOf+"a", fenceOf+"a") },
		} {
			for _, ttl := range []time.Duration{2 * time.Minute, time.Second} { // longer than what is left, and shorter
				m.do("FLUSHALL")
				h.set(m, ours)
				change()
				m.do("CONFIG", "SET", "maxmemory", 1)
				if _, err := conn.Do("SET", "other", "value"); err == nil || !strings.HasPrefix(err.Error(), "OOM ") {
					t.Fatalf("memory is not full: %v", err)
				}
				if got := h.prolong(m, ttl); got != any(int64(1)) {
					t.Errorf("%s, TTL %v, %s: %v", h.name, ttl, name, got)
				}
				m.do("CONFIG", "SET", "maxmemory", 0)
				h.kept(m, max(ttl, 50*time.Second))
			}
		}
	}
}

// kept fails unless all that belongs to the lock is there, the lock for at least ttl.
func (h held) kept(m *lua, ttl time.Duration) {
	m.t.Helper()
	for _, lock := range h.locks {
		if left := m.do("PTTL", lock).(int64); left < (ttl-10*time.Second).Milliseconds() || left > (ttl+10*time.Second).Milliseconds() {
			m.t.Errorf("%s: %q is kept for %d ms", h.name, lock, left)
		}
		if h.modus.fenced {
			if fence := m.text("GET", fenceOf+lock); fence < fmt.Sprint(h.modus.number) {
				m.t.Errorf("%s: the fence is %q", h.name, fence)
			}
			if left := m.do("PTTL", fenceOf+lock).(int64); left < retained-60_000 {
				m.t.Errorf("%s: the fence is kept for %d ms", h.name, left)
			}
		}
		if h.modus.strict {
			if members, err := redis.Strings(m.conn.Do("ZRANGE", leaseOf+lock, 0, -1)); err != nil || !slices.Contains(members, ours) {
				m.t.Errorf("%s: the lease record has %q, %v", h.name, members, err)
			}
		}
	}
}
