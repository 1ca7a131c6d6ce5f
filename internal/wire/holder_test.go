package wire

import (
	"testing"

	"github.com/redquorum/redquorum/internal/quorum"
)

func TestRepliesOfTheHolderScriptAreReadStrictly(t *testing.T) {
	b := func(s string) any { return []byte(s) }
	for _, bad := range []any{
		nil, int64(1), "OK", []any{}, []any{b("string"), b("x")},
		[]any{b("string"), b("x"), b("1")}, []any{int64(1), b("x"), int64(1)}, []any{b("string"), nil, int64(1)},
	} {
		if h, ok := readHolder(bad); ok {
			t.Errorf("%v is read as %+v", bad, h)
		}
	}
	h, ok := readHolder([]any{b("string"), b("x"), int64(1 << 62)})
	if !ok || h.TTL <= 0 {
		t.Errorf("a huge TTL is read as %+v", h)
	}
}

func TestRepliesOfTheInspectScriptAreReadStrictly(t *testing.T) {
	b := func(s string) any { return []byte(s) }
	for _, bad := range []any{
		nil, int64(1), "OK", []any{}, []any{b("string"), int64(1), b("x")},
		[]any{b("string"), int64(1), b("x"), int64(-1)}, []any{b("string"), int64(1), b("x"), b("0")},
		[]any{b("string"), b("1"), b("x"), int64(0)}, []any{nil, int64(1), b("x"), int64(0)},
		[]any{b("string"), int64(1), nil, int64(0)}, []any{b("zset"), int64(1), b(""), int64(1), b("r")},
		[]any{b("zset"), int64(1), b(""), int64(1), b("r"), b("1")}, []any{b("zset"), int64(1), b(""), int64(1), nil, int64(1)},
	} {
		if m, ok := readKeyState(bad); ok {
			t.Errorf("%v is read as %+v", bad, m)
		}
	}
	m, ok := readKeyState([]any{b("zset"), int64(1 << 62), b(""), int64(1), b("r"), int64(1 << 62)})
	if !ok || m.Held.TTL <= 0 || m.Readers[0].TTL <= 0 {
		t.Errorf("a huge TTL is read as %+v", m)
	}
}

func TestReadersAreReadFromTheHolderScript(t *testing.T) {
	for _, test := range []struct {
		kind, value string
		want        quorum.Held
	}{
		{"zset", "3", quorum.Held{Type: "zset", Readers: 3, TTL: 1e9, Masters: 1}},
		{"zset", "many", quorum.Held{Type: "zset", TTL: 1e9, Masters: 1}},
		{"string", "3", quorum.Held{Type: "string", Token: "3", TTL: 1e9, Masters: 1}},
		{"hash", "", quorum.Held{Type: "hash", TTL: 1e9, Masters: 1, Stuck: true}},
	} {
		h, ok := readHolder([]any{[]byte(test.kind), []byte(test.value), int64(1000)})
		if !ok || *h != test.want {
			t.Errorf("%s %q: %+v, want %+v", test.kind, test.value, h, test.want)
		}
	}
}
