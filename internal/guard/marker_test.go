package guard

import (
	"slices"
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
	// good is a whole marker, with changes: name, value…
	names := []string{"v", "run", "replid", "since", "wall", "maxttl", "n", "level", "db", "how", "seen", "was", "by", "to"}
	good := func(changes ...string) []string {
		fields := []string{"3", id, otherID, "1000", "2000", "60000", "5", "standard", "0", "adopted", "", "", "", ""}
		for i := 0; i < len(changes); i += 2 {
			fields[slices.Index(names, changes[i])] = changes[i+1]
		}
		return fields
	}
	sighted := func(ms any) []any {
		return append(append(answer("MISSING", 5_000_000), ms), answer("", 0, otherID, "1000", "2000", "")[2:]...)
	}
	long := strings.Repeat("x", 65)
	for name, test := range map[string]struct {
		reply any
		want  Verdict // None: refused
	}{
		"same":                    {answer("SAME", 5_000_000, good()...), Same},
		"missing":                 {sighted(int64(0)), Missing},
		"missing for long":        {sighted(int64(1<<43 - 1)), Missing},
		"missing for too long":    {sighted(int64(1 << 43)), None},
		"missing since later":     {sighted(int64(-1)), None},
		"missing, as a text":      {sighted([]byte("5")), None},
		"skew":                    {answer("SKEW", 0), Skewed},
		"type":                    {answer("TYPE", 1, "list"), WrongType},
		"present, short":          {answer("PRESENT", 1), Present},
		"present, long":           {answer("PRESENT", 1, good()...), Present},
		"nil":                     {nil, None},
		"a verdict alone":         {answer("SAME", 1)[:1], None},
		"another verdict":         {answer("FINE", 1, good()...), None},
		"none":                    {answer("NONE", 1, good()...), None},
		"a number in it":          {append(answer("SAME", 1, good()[:13]...), int64(5)), None},
		"missing, one short":      {sighted(int64(0))[:6], None},
		"missing, one too many":   {append(sighted(int64(0)), []byte("x")), None},
		"missing, a number in it": {append(sighted(int64(0))[:6], int64(5)), None},
		"same, one short":         {answer("SAME", 1, good()[:13]...), None},
		"one too many":            {answer("SAME", 1, append(good(), "x")...), None},
		"skew, to who only looks": {answer("SKEW", 1, good()...), Skewed},
		"skew, one short":         {answer("SKEW", 1, good()[:13]...), None},
		"type, short":             {answer("TYPE", 1), None},
		"a negative time":         {answer("SAME", -1, good()...), None},
		"a time beyond":           {answer("SAME", 1<<53, good()...), None},
		"time as a text":          {[]any{[]byte("SKEW"), []byte("1")}, None},
		"a number for a type":     {append(answer("TYPE", 1), int64(1)), None},
		"a long field":            {answer("CONFIG", 1, good("replid", long)...), None},
		"no since":                {answer("SAME", 1, good("since", "")...), None},
		"since is signed":         {answer("SAME", 1, good("since", "+1")...), None},
		"since of another fleet":  {answer("CONFIG", 1, good("since", "x")...), Conflict},
		"since is long":           {answer("SAME", 1, good("since", "0000000000000001")...), None},
		"the largest and longest": {answer("SAME", 1<<53-1, good("since", "999999999999999", "how", long[:64])...), Same},
	} {
		m, err := ParseMarker(test.reply, at(0), at(time.Second))
		if (err == nil) != (test.want != None) || m.Verdict != test.want {
			t.Errorf("%s: %v, %v; want %v", name, m.Verdict, err, test.want)
		}
		if age, ok := m.Age(at(time.Hour)); ok && age < 0 {
			t.Errorf("%s: the age is %v", name, age)
		}
	}
	m, err := ParseMarker(answer("SAME", 5_000_000, "2", "r", "h", "3", "4", "5", "6", "l", "7", "w", "9/9", "60000", "o", "x"), at(0), at(time.Second))
	want := Fields{
		Version: "2", Run: "r", Replid: "h", Since: "3", Wall: "4", MaxTTL: "5", Masters: "6", LevelIs: "l", DB: "7", How: "w", Seen: "9/9", Was: "60000", By: "o", To: "x",
	}
	if err != nil || m.Fields != want {
		t.Errorf("%+v, %v; want %+v", m.Fields, err, want)
	}
	if got, want := m.Mark(), mark("r", "3", "h", "7"); got != want {
		t.Errorf("its check has to answer %q, want %q", got, want)
	}
	for known, text := range map[bool]string{false: "", true: "1"} {
		reply := slices.Concat(sighted(int64(1500))[:6], []any{[]byte(text)})
		m, err := ParseMarker(reply, at(0), at(time.Second))
		if want := (Fields{Replid: otherID, Since: "1000", Wall: "2000"}); err != nil || m.Sighted != 1500*time.Millisecond || m.Known != known || m.Fields != want {
			t.Errorf("known for %v (%v), %+v, %v; want 1.5s (%v), %+v", m.Sighted, m.Known, m.Fields, err, known, want)
		}
	}
}

const otherID = "fedcba9876543210fedcba9876543210fedcba98"

// at is a reading of our clocks, d after a fixed start.
func at(d time.Duration) drift.Instant {
	return drift.At(d, d, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Add(d))
}

func TestAMarkerHasAnAgeWhereItIsOfThisFleetAndProcess(t *testing.T) {
	m := healthy(config(Standard), 1, time.Hour).Marker
	for m.Verdict = None; m.Verdict <= Present; m.Verdict++ {
		if _, ok := m.Age(at(0)); ok != (m.Verdict >= Same && m.Verdict <= Forced) {
			t.Errorf("%v has an age: %v", m.Verdict, ok)
		}
	}
}

// The age compares our wall clock when the script was sent with the clock of the client that wrote
// the marker.
func TestAgeIsBoundedByOurWallClockUnlessThatIsBehind(t *testing.T) {
	c := drift.NewFake(time.Unix(1_000_000, 0))
	sent := c.Now()
	c.Advance(50 * time.Millisecond)
	received := c.Now()
	for name, test := range map[string]struct {
		wall string // now is 1000000000
		want time.Duration
	}{
		"older":            {"1000", 1000 * time.Second},
		"as old":           {"999000000", 1000 * time.Second},
		"younger":          {"999990000", 10 * time.Second},
		"just now":         {"1000000000", 0},
		"in the future":    {"1000000001", 1000 * time.Second},
		"far in it":        {"999999999999999", 1000 * time.Second},
		"none":             {"", 1000 * time.Second},
		"no instant":       {"x", 1000 * time.Second},
		"too long":         {"0000000999990000", 1000 * time.Second},
		"of a declaration": {"0", 1000 * time.Second},
	} {
		m, err := ParseMarker(answer("SAME", 5_000_000_000, "3", id, otherID, "4000000", test.wall, "60000", "5", "standard", "0", "", "", "", "", ""), sent, received)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := m.Age(received); !ok || got != test.want {
			t.Errorf("%s: the age is %v (%v), want %v", name, got, ok, test.want)
		}
		later := c.Now()
		if got, _ := m.Age(later); got != test.want {
			t.Errorf("%s: at once the age is %v, want %v", name, got, test.want)
		}
	}
}

// Any answer of a server to the scripts is a valid marker, or is refused. The reply consists of the
// given numbers and texts.
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
		for _, field := range append(valuesOf(m.Fields), m.Type) {
			if len(field) > maxValue {
				t.Errorf("a field has %d bytes", len(field))
			}
		}
		age, known := m.Age(drift.Instant{})
		if known != m.Verdict.written() || age < 0 {
			t.Errorf("%q is %v old (%t)", reply, age, known)
		}
		if m.Sighted < 0 || m.Sighted > 0 && m.Verdict != Missing {
			t.Errorf("%q has been known for %v", reply, m.Sighted)
		}
		if got, want := m.Mark(), mark(m.Run, m.Since, m.Replid, m.DB); got != want {
			t.Errorf("%q: the check has to answer %q, want %q", reply, got, want)
		}
	})
}

func valuesOf(f Fields) (values []string) {
	for _, text := range f.texts() {
		values = append(values, *text)
	}
	return values
}
