package integration

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/internal/guard"
)

const five = 5 // masters of most tests

// longTTL is a TTL that no test waits for: a key that is gone earlier was released or rolled back.
const longTTL = time.Minute

// strangersToken is the token of another's lock on the masters.
const strangersToken = "stranger"

// lateBound is how late a master may execute what a closed client has sent. It is far less than
// the TTL of a lock that is forgotten.
const lateBound = time.Second

// masters are Redis servers, in processes or containers, that tests also reach without the
// library.
type masters struct {
	trusting bool // clients have no guard: the test restarts or empties masters
	t        *testing.T
	urls     []string
	// command sends one command on a connection of its own.
	command func(i int, cmd string, args ...any) (any, error)
	// answers reports whether a master is neither down nor frozen nor cut off.
	answers func(i int) bool
}

// do sends a command that must succeed.
func (m *masters) do(i int, cmd string, args ...any) any {
	m.t.Helper()
	reply, err := m.command(i, cmd, args...)
	if err != nil {
		m.t.Fatalf("master %d: %v", i, err)
	}
	return reply
}

// each calls f with the number of every master that answers.
func (m *masters) each(f func(i int)) {
	for i := range m.urls {
		if m.answers(i) {
			f(i)
		}
	}
}

// value returns the string at a key, or "" if there is none.
func (m *masters) value(i int, key string) string {
	m.t.Helper()
	value, err := redis.String(m.command(i, "GET", key))
	if err != nil && !errors.Is(err, redis.ErrNil) {
		m.t.Fatalf("master %d: GET %s: %v", i, key, err)
	}
	return value
}

// pttl returns the TTL of a key in milliseconds; -2: there is no such key.
func (m *masters) pttl(i int, key string) int64 {
	m.t.Helper()
	ms, err := redis.Int64(m.command(i, "PTTL", key))
	if err != nil {
		m.t.Fatalf("master %d: PTTL %s: %v", i, key, err)
	}
	return ms
}

// holders counts the masters that answer and have the value at the key.
func (m *masters) holders(key, value string) int {
	m.t.Helper()
	n := 0
	m.each(func(i int) {
		if m.value(i, key) == value {
			n++
		}
	})
	return n
}

// wantFree waits until no master that answers has the key: a release may still be under way.
func (m *masters) wantFree(key string) {
	m.t.Helper()
	eventually(m.t, "the key "+key+" is gone from all masters", func() bool { return m.free(key) })
}

func (m *masters) free(key string) bool {
	m.t.Helper()
	free := true
	m.each(func(i int) { free = free && m.pttl(i, key) == -2 })
	return free
}

// keys returns all keys of a master except its marker, with the values of strings, for messages.
func (m *masters) keys(i int) []string {
	m.t.Helper()
	names, err := redis.Strings(m.command(i, "KEYS", "*"))
	if err != nil {
		m.t.Fatalf("master %d: %v", i, err)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name == guard.Key || name == guard.Sighting || name == guard.ListKey })
	for n, name := range names {
		if value, err := redis.String(m.command(i, "GET", name)); err == nil {
			names[n] = fmt.Sprintf("%s=%s (%d ms left)", name, value, m.pttl(i, name))
		}
	}
	return names
}

// wantNoKeys is the last check of every test: no master that answers has a key. The client is
// closed by then, so what it has sent is at most a moment late. No TTL is awaited, so a key that
// stays is seen.
func (m *masters) wantNoKeys() {
	m.t.Helper()
	if m.t.Failed() {
		return // what is left is a consequence
	}
	var left []string
	for deadline := time.Now().Add(lateBound); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		left = nil
		m.each(func(i int) {
			for _, key := range m.keys(i) {
				left = append(left, fmt.Sprintf("master %d: %s", i, key))
			}
		})
		if len(left) == 0 {
			return
		}
	}
	m.t.Errorf("left behind: %v", left)
}

// calls returns how often a master has executed a command, in scripts too, since it started or
// CONFIG RESETSTAT.
func (m *masters) calls(i int, cmd string) int {
	m.t.Helper()
	info, err := redis.String(m.command(i, "INFO", "commandstats"))
	if err != nil {
		m.t.Fatalf("master %d: INFO commandstats: %v", i, err)
	}
	_, after, found := strings.Cut(info, "cmdstat_"+cmd+":calls=")
	if !found {
		return 0
	}
	digits, _, _ := strings.Cut(after, ",")
	n, err := strconv.Atoi(digits)
	if err != nil {
		m.t.Fatalf("master %d: commandstats of %s: %v", i, cmd, err)
	}
	return n
}

// foreign puts somebody else's lock onto masters, for a minute.
func (m *masters) foreign(key, value string, which ...int) {
	m.t.Helper()
	for _, i := range which {
		m.do(i, "SET", key, value, "PX", 60_000)
	}
}

// remove deletes keys that a test has put there.
func (m *masters) remove(key string) {
	m.t.Helper()
	m.each(func(i int) { m.do(i, "DEL", key) })
}
