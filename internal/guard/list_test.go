package guard

import (
	"testing"
	"time"
)

func TestTheDigestOfAListIsOfItsMastersAndNotOfTheirOrder(t *testing.T) {
	own := ListDigest([]string{"a:1", "b:1", "c:1"})
	for name, test := range map[string]struct {
		list []string
		same bool
	}{
		"another order":    {[]string{"c:1", "a:1", "b:1"}, true},
		"capitals":         {[]string{"A:1", "b:1", "C:1"}, true},
		"another port":     {[]string{"a:1", "b:1", "c:2"}, false},
		"one less":         {[]string{"a:1", "b:1"}, false},
		"one more":         {[]string{"a:1", "b:1", "c:1", "d:1"}, false},
		"names that touch": {[]string{"a:1b", ":1", "c:1"}, false},
	} {
		if got := ListDigest(test.list); (got == own) != test.same || len(got) != 20 {
			t.Errorf("%s: %s, the own is %s", name, got, own)
		}
	}
}

// A list stays for at most two minutes after it was last confirmed, whichever other client comes.
func TestTheListOfMastersIsNotedAndAnotherIsTold(t *testing.T) {
	onEach(t, func(t *testing.T, m *master) {
		note := func(own string, looks bool) (OtherList, int64) {
			t.Helper()
			reply := m.do("EVAL", List.EvalArgs(ListArgs(own, looks))...)
			other, ok := ReadList(reply, own)
			if !ok {
				t.Fatalf("the script answers %q", reply)
			}
			left, _ := m.do("PTTL", ListKey).(int64)
			return other, left
		}
		m.do("DEL", ListKey)
		if other, left := note("a", true); other != (OtherList{}) || left != -2 {
			t.Errorf("who looks finds %+v, and leaves %d ms", other, left)
		}
		if other, left := note("a", false); other != (OtherList{}) || left < 119_000 {
			t.Errorf("the first finds %+v, and leaves %d ms", other, left)
		}
		for before, want := range map[int64]int64{100_000: 100_000, 91_000: 91_000, 80_000: 120_000} {
			m.do("PEXPIRE", ListKey, before)
			if other, left := note("a", true); other != (OtherList{}) || left > before {
				t.Errorf("who looks finds %+v, and leaves %d of %d ms", other, left, before)
			}
			if other, left := note("a", false); other != (OtherList{}) || left > want || left < want-1000 {
				t.Errorf("the same finds %+v, and leaves %d of %d ms, want %d", other, left, before, want)
			}
		}
		m.do("PEXPIRE", ListKey, 30_000)
		for _, looks := range []bool{false, true} {
			other, left := note("b", looks)
			if other.Digest != "a" || other.Age < 90*time.Second || other.Age > 91*time.Second || left > 30_000 {
				t.Errorf("another finds %+v, and leaves %d ms", other, left)
			}
		}
		m.do("DEL", ListKey)
		m.do("HSET", ListKey, "x", "y")
		if reply, err := m.conn.Do("EVAL", List.EvalArgs(ListArgs("a", false))...); err == nil {
			t.Errorf("a hash there is answered by %q", reply)
		}
		m.do("DEL", ListKey)
	})
}

func TestOnlyAReplyOfTheListsScriptIsRead(t *testing.T) {
	for name, reply := range map[string]any{
		"nothing": nil, "a text": []byte("a"), "one": []any{[]byte("a")}, "three": []any{[]byte("a"), int64(1), int64(1)},
		"a number first": []any{int64(1), int64(1)}, "a text last": []any{[]byte("a"), []byte("1")},
	} {
		if other, ok := ReadList(reply, "b"); ok || other != (OtherList{}) {
			t.Errorf("%s: %+v", name, other)
		}
	}
	for left, age := range map[int64]time.Duration{-1: listKept, 120_000: 0, 1 << 62: 0, 60_000: time.Minute} {
		if other, ok := ReadList([]any{[]byte("a"), left}, "b"); !ok || other.Age != age {
			t.Errorf("%d ms are left: %+v (%v), want %v", left, other, ok, age)
		}
	}
}
