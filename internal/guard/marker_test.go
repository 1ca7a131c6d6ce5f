package guard

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redquorum/redquorum/drift"
)

// answer is a reply as redigo returns it.
func answer(verdict string, us int64, fields ...string) []any {
	parts := []any{[]byte(verdict), us}
	for _, f := range fields {
		parts = append(parts, []byte(f))
	}
	return parts
}

func TestParseMarkerAcceptsWhatScriptsReturnAndNothingElse(t *testing.T) {
	good := []string{"1", id, "1000", "60000", "5", "standard"}
	long := strings.Repeat("x", 65)
	for name, test := range map[string]struct {
		reply any
		want  Verdict // None: refused
	}{
		"same":                    {answer("SAME", 5_000_000, good...), Same},
		"missing":                 {answer("MISSING", 5_000_000, "", "", "", "", "", ""), Missing},
		"skew":                    {answer("SKEW", 0), Skewed},
		"type":                    {answer("TYPE", 1, "list"), WrongType},
		"present, short":          {answer("PRESENT", 1), Present},
		"present, long":           {answer("PRESENT", 1, good...), Present},
		"nil":                     {nil, None},
		"a number":                {int64(1), None},
		"a string":                {[]byte("SAME"), None},
		"empty":                   {[]any{}, None},
		"a verdict alone":         {answer("SAME", 1)[:1], None},
		"another verdict":         {answer("FINE", 1, good...), None},
		"in lower case":           {answer("same", 1, good...), None},
		"none":                    {answer("NONE", 1, good...), None},
		"no verdict":              {answer("", 1, good...), None},
		"nil in it":               {append(answer("SAME", 1, good[:5]...), nil), None},
		"a number in it":          {append(answer("SAME", 1, good[:5]...), int64(5)), None},
		"same, short":             {answer("SAME", 1), None},
		"same, one short":         {answer("SAME", 1, good[:5]...), None},
		"one too many":            {answer("SAME", 1, append(good, "x")...), None},
		"skew, long":              {answer("SKEW", 1, good...), None},
		"type, short":             {answer("TYPE", 1), None},
		"a negative time":         {answer("SAME", -1, good...), None},
		"a time beyond":           {answer("SAME", 1<<53, good...), None},
		"time as a text":          {[]any{[]byte("SKEW"), []byte("1")}, None},
		"a long field":            {answer("CONFIG", 1, "1", long, "1", "1", "1", "1"), None},
		"no since":                {answer("SAME", 1, "1", id, "", "60000", "5", "standard"), None},
		"since is a word":         {answer("SAME", 1, "1", id, "x", "60000", "5", "standard"), None},
		"since is signed":         {answer("SAME", 1, "1", id, "+1", "60000", "5", "standard"), None},
		"since of another fleet":  {answer("CONFIG", 1, "1", id, "x", "60000", "5", "standard"), Conflict},
		"since is long":           {answer("SAME", 1, "1", id, "0000000000000001", "60000", "5", "standard"), None},
		"the largest and longest": {answer("SAME", 1<<53-1, "1", id, "999999999999999", "60000", "5", "standard"), Same},
	} {
		m, err := ParseMarker(test.reply, at(0), at(time.Second))
		if (err == nil) != (test.want != None) || m.Verdict != test.want {
			t.Errorf("%s: %v, %v; want %v", name, m.Verdict, err, test.want)
		}
		if age, ok := m.Age(at(time.Hour)); ok && age < 0 {
			t.Errorf("%s: the age is %v", name, age)
		}
	}
}

// at is a reading of our clocks, so much after a start.
func at(d time.Duration) drift.Instant {
	return drift.At(d, d, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Add(d))
}

func TestAgeIsCountedByTheMastersClockAndThenByOurMonotonicOne(t *testing.T) {
	c := drift.NewFake(time.Unix(1_000_000, 0))
	sent := c.Now()
	c.Advance(50 * time.Millisecond)
	received := c.Now()
	m, err := ParseMarker(answer("SAME", 5_000_000_000, "1", id, "4000000", "60000", "5", "standard"), sent, received)
	if err != nil {
		t.Fatal(err)
	}
	want := func(d time.Duration) {
		t.Helper()
		if got, ok := m.Age(c.Now()); !ok || got != d {
			t.Errorf("the age is %v (%v), want %v", got, ok, d)
		}
	}
	want(1000 * time.Second) // the reply's way is not counted
	c.Advance(time.Second)
	want(1001 * time.Second)
	c.StepWall(time.Hour) // does not let it vote sooner
	want(1001 * time.Second)
	c.Suspend(time.Hour)
	want(1001 * time.Second)
	if got, _ := m.Age(sent); got != 1000*time.Second {
		t.Errorf("before the reply the age is %v", got)
	}
	if got, _ := m.Age(drift.Instant{}); got != 1000*time.Second {
		t.Errorf("at no instant the age is %v", got)
	}
	future := m
	future.Since = "9000000"
	if got, ok := future.Age(received); !ok || got != 0 {
		t.Errorf("since in the future: the age is %v (%v), want 0", got, ok)
	}
	for v := None; v <= Present; v++ {
		m.Verdict = v
		if _, ok := m.Age(c.Now()); ok != (v >= Same && v <= Forced) {
			t.Errorf("%v has an age: %v", v, ok)
		}
	}
}

func TestVerdictsAreNamedAsTheScriptsDo(t *testing.T) {
	for name, v := range verdicts {
		if v.String() != name {
			t.Errorf("%v, want %s", v, name)
		}
		for _, s := range Scripts {
			if strings.Contains(s.Source, "'"+name+"'") {
				name = ""
			}
		}
		if name != "" {
			t.Errorf("no script answers %s", name)
		}
	}
	if s := fmt.Sprint(None, " ", Verdict(99)); s != "NONE Verdict(99)" {
		t.Errorf("%q", s)
	}
}

func TestTheCheckHoldsForItsOwnReplyAlone(t *testing.T) {
	m := Marker{Verdict: Same, Run: id, Since: "1000"}
	texts := func(s ...string) (parts []any) {
		for _, text := range s {
			parts = append(parts, []byte(text))
		}
		return parts
	}
	if !m.Holds(texts(id, "1000")) {
		t.Error("its own reply does not hold")
	}
	for name, reply := range map[string]any{
		"nil": nil, "both gone": []any{nil, nil}, "one": texts(id), "three": texts(id, "1000", "x"), "another run": texts("x", "1000"),
		"another since": texts(id, "1001"), "since gone": []any{[]byte(id), nil}, "swapped": texts("1000", id), "an error": fmt.Errorf("x"),
	} {
		if m.Holds(reply) {
			t.Errorf("%s: it holds", name)
		}
	}
	for _, v := range []Verdict{None, Missing, Conflict, Skewed, Present, WrongType} {
		if m.Verdict = v; m.Holds(texts(id, "1000")) {
			t.Errorf("%v: it holds", v)
		}
	}
}

// Whatever a server answers to the scripts, it is a marker that can be told, or
// refused. The reply is made of the numbers and texts given.
func FuzzParseMarker(f *testing.F) {
	f.Fuzz(func(t *testing.T, verdict string, us int64, texts string, numbers bool) {
		reply := []any{[]byte(verdict), us}
		for text := range strings.SplitSeq(texts, ",") {
			if n, err := strconv.ParseInt(text, 10, 64); err == nil && numbers {
				reply = append(reply, n)
			} else if texts != "" {
				reply = append(reply, []byte(text))
			}
		}
		m, err := ParseMarker(reply, drift.Instant{}, drift.Instant{})
		if err != nil {
			if m != (Marker{}) {
				t.Errorf("%q is refused, and read as %+v", reply, m)
			}
			return
		}
		if m.Verdict == None || m.Verdict.String() != verdict || m.Clock.Time.UnixMicro() != us {
			t.Errorf("%q is read as %+v", reply, m)
		}
		for _, field := range []string{m.Version, m.Run, m.Since, m.MaxTTL, m.Masters, m.LevelIs, m.Type} {
			if len(field) > maxValue {
				t.Errorf("a field has %d bytes", len(field))
			}
		}
		age, known := m.Age(drift.Instant{})
		if known != m.Verdict.written() || age < 0 {
			t.Errorf("%q is %v old (%t)", reply, age, known)
		}
		if m.Holds([]any{[]byte(m.Run), []byte(m.Since)}) != known {
			t.Errorf("%q does not hold by its own words", reply)
		}
		if m.Holds([]any{[]byte(m.Run + "x"), []byte(m.Since)}) || m.Holds(reply) {
			t.Errorf("%q holds by others", reply)
		}
	})
}
