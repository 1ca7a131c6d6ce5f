package wire

import "testing"

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
