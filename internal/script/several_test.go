package script

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// ttl is the TTL of all calls here, in milliseconds.
const ttl = 10_000

// contents are what may be at a lock's name, a letter each. left is for how many
// milliseconds: -1 for ever.
var contents = map[rune]struct {
	kind, value string
	left        int64
}{
	'-': {"none", "", -2},
	'o': {"string", ours, 5000},
	'l': {"string", ours, 60_000},
	'n': {"string", ours, -1},
	'O': {"string", ours, ttl},
	'a': {"string", other, 5000},
	'b': {"string", other, -1},
	// Nearly ours.
	'+': {"string", ours + "x", 5000},
	'<': {"string", ours[:len(ours)-1], 5000},
	// Other types, which are all treated alike.
	'h': {"hash", "", 5000},
	'z': {"zset", "", 5000},
}

// make sets up keys, a letter of contents for each.
func (m *lua) make(letters string) (keys []string) {
	m.t.Helper()
	m.do("FLUSHALL")
	for i, letter := range letters {
		key, is := fmt.Sprintf("key-%d:{x}", i), contents[letter]
		keys = append(keys, key)
		switch is.kind {
		case "none":
		case "string":
			m.do("SET", key, is.value)
		default:
			command := otherTypes[is.kind]
			m.do(command[0].(string), append([]any{key}, command[2:]...)...)
		}
		if is.left > 0 {
			m.do("PEXPIRE", key, is.left)
		}
	}
	return keys
}

// letters returns what the keys have become; "?" is none of contents. A real server's TTLs run on
// in the meantime, by much less than a second of 5, 10 or 60.
func (m *lua) letters(keys []string) string {
	m.t.Helper()
	var letters strings.Builder
	for _, key := range keys {
		kind, left, value := m.do("TYPE", key), m.do("PTTL", key).(int64), ""
		if kind == "string" {
			value = string(m.do("GET", key).([]byte))
		}
		found := '?'
		for letter, is := range contents {
			if kind == is.kind && value == is.value && left <= is.left && left > is.left-1000 && (left < 0) == (is.left < 0) {
				found = letter
			}
		}
		letters.WriteRune(found)
	}
	return letters.String()
}

// A row is what a script makes of keys, a letter of contents for each, and returns.
type row struct {
	script *Script
	args   []any
	before string
	want   int64
	after  string
}

// does runs each row: for all keys together, or for each alone.
func (m *lua) does(alone bool, rows []row) {
	m.t.Helper()
	for _, r := range rows {
		what := fmt.Sprintf("%s%q on %q", r.script.Name, r.args[1:], r.before)
		keys := m.make(r.before)
		each := [][]string{keys}
		if alone {
			each = slices.Collect(slices.Chunk(keys, 1))
		}
		for _, keys := range each {
			m.want(what, m.eval(r.script, keys, r.args...), r.want)
		}
		if got := m.letters(keys); got != r.after {
			m.t.Errorf("%s made %q, want %q", what, got, r.after)
		}
	}
}

// Tokens are compared byte for byte, in full, and only what is ours is changed.
func TestScriptsForOneKey(t *testing.T) {
	const others = "ab+<hz"
	m := newMaster(t).lua
	m.does(true, []row{
		{Release, []any{ours}, "oln", 1, "---"},
		{Release, []any{ours}, "-", 3, "-"},
		{Release, []any{ours}, others, 0, others},

		// Prolonged, never shortened; set again only if asked. A key that somebody has made
		// permanent gets an expiry, so that it cannot outlive its holder.
		{Extend, []any{ours, ttl, "1"}, "oln", 1, "OlO"},
		{Extend, []any{ours, ttl, "1"}, "-", 2, "O"},
		{Extend, []any{ours, ttl, "1"}, others, 0, others},
		{Extend, []any{ours, ttl, "0"}, "oln", 1, "OlO"},
		{Extend, []any{ours, ttl, "11"}, "-", 3, "-"},

		{Verify, []any{ours}, "oln", 1, "oln"},
		{Verify, []any{ours}, "-", 3, "-"},
		{Verify, []any{ours}, others, 0, others},

		// The scripts for readers leave a writer's lock alone, also with the writer's own token.
		{ReaderExtend, []any{ours, ttl, "1", longest}, "oa", 0, "oa"},
		{ReaderVerify, []any{ours}, "oa", 0, "oa"},
		{ReaderRelease, []any{ours, longest}, "oa", 0, "oa"},
	})
}

func TestScriptsForSeveralKeys(t *testing.T) {
	m := newMaster(t).lua
	m.does(false, []row{
		// All or none; if none, nothing is written.
		{AcquireAll, []any{ours, ttl}, "---", 1, "OOO"},
		{AcquireAll, []any{ours, ttl}, "--a", 0, "--a"},

		// Prolonged, never shortened; set again unless another holds one of them.
		{ExtendAll, []any{ours, ttl, "1"}, "lon", 1, "lOO"},
		{ExtendAll, []any{ours, ttl, "1"}, "o-o", 2, "OOO"},
		{ExtendAll, []any{ours, ttl, "1"}, "---", 2, "OOO"},
		{ExtendAll, []any{ours, ttl, "1"}, "oao-", 0, "OaO-"},
		{ExtendAll, []any{ours, ttl, "1"}, "o-h", 0, "O-h"},
		{ExtendAll, []any{ours, ttl, "0"}, "ool", 1, "OOl"},
		{ExtendAll, []any{ours, ttl, "yes"}, "o-o", 3, "O-O"},

		{VerifyAll, []any{ours}, "olo", 1, "olo"},
		{VerifyAll, []any{ours}, "o-o", 3, "o-o"},
		{VerifyAll, []any{ours}, "o-a", 0, "o-a"},
		{VerifyAll, []any{ours}, "o-h", 0, "o-h"},

		// Ours are deleted, whatever became of the others.
		{ReleaseAll, []any{ours}, "olo", 1, "---"},
		{ReleaseAll, []any{ours}, "o-n", 3, "---"},
		{ReleaseAll, []any{ours}, "oao", 0, "-a-"},
		{ReleaseAll, []any{ours}, "hoz", 0, "h-z"},

		// Tokens are compared byte for byte, in full.
		{ExtendAll, []any{ours, ttl, "1"}, "+o", 0, "+O"},
		{ExtendAll, []any{ours, ttl, "1"}, "<o", 0, "<O"},
		{VerifyAll, []any{ours}, "+o", 0, "+o"},
		{VerifyAll, []any{ours}, "<o", 0, "<o"},
		{ReleaseAll, []any{ours}, "+<o", 0, "+<-"},

		{ReleaseSet, []any{ours, "me"}, "olo", 1, "---"},

		// A lock whose queue is empty, or is no queue at all.
		{Queue, []any{"release", "me", ours}, "o-", 1, "--"},
		{Queue, []any{"release", "me", ours}, "a-", 0, "a-"},
		{Queue, []any{"release", "me", ours}, "oh", 1, "-h"},
	})
}

func TestHolderAmongNamesTheKeyInTheWay(t *testing.T) {
	m := newMaster(t).lua
	for _, test := range []struct {
		before, kind, value string
		key                 int // -1: any
	}{
		{"-a-", "string", other, 1},
		{"lba", "string", other, 1}, // never expires
		{"---", "none", "", -1},
	} {
		keys := m.make(test.before)
		reply := m.eval(HolderAmong, keys).([]any)
		if len(reply) != 4 {
			t.Fatalf("of %q: %q", test.before, reply)
		}
		want := []any{[]byte(test.kind), []byte(test.value)}
		if !reflect.DeepEqual(reply[:2], want) {
			t.Errorf("of %q: %q, want %q", test.before, reply, want)
		}
		if test.key >= 0 && string(reply[3].([]byte)) != keys[test.key] {
			t.Errorf("of %q: names %q, want number %d", test.before, reply[3], test.key)
		}
		if _, ok := reply[2].(int64); !ok {
			t.Errorf("of %q: a TTL of %v", test.before, reply[2])
		}
		if got := m.letters(keys); got != test.before {
			t.Errorf("it made %q of %q", got, test.before)
		}
	}
}
