package term

import (
	"bytes"
	"strings"
	"testing"
)

// narrow returns a table in so many columns.
func narrow(columns int) string {
	var b bytes.Buffer
	Layout{columns}.Table(&b, Table{
		Rows: [][]string{
			{"master", "holder", "left", "token"},
			{"10.0.0.1:6379", "billing", "8.0 s", "dc0ofu9ksdue9s8caem0:54a3…"},
			{"10.0.0.2:6379", "✗ no session (the master is up): SELECT 3: ERR DB index"},
		},
		Spare:     []int{3},
		Paragraph: func(row []string) string { return strings.Join(row, ", ") },
	})
	return b.String()
}

func TestATableGetsNarrowerAndLosesNothingOfErrors(t *testing.T) {
	t.Parallel()
	const short = "   10.0.0.2:6379  ✗ no session (the master is up): SELECT 3: ERR DB index\n"
	for columns, want := range map[int]string{
		0:  "   master         holder   left   token\n   10.0.0.1:6379  billing  8.0 s  dc0ofu9ksdue9s8caem0:54a3…\n" + short,
		80: "   master         holder   left   token\n   10.0.0.1:6379  billing  8.0 s  dc0ofu9ksdue9s8caem0:54a3…\n" + short,
		50: "   master         holder   left\n   10.0.0.1:6379  billing  8.0 s\n   10.0.0.2:6379  ✗ no session (the master is up):\n                  SELECT 3: ERR DB index\n",
		32: "   10.0.0.1:6379, billing, 8.0\n     s,\n     dc0ofu9ksdue9s8caem0:54a3…\n   10.0.0.2:6379, ✗ no session\n     (the master is up): SELECT\n     3: ERR DB index\n",
	} {
		if got := narrow(columns); got != want {
			t.Errorf("%d columns:\n%s\nwant\n%s", columns, got, want)
		}
	}
}

// CJK and emoji take two columns.
func TestWideCharactersKeepTheColumns(t *testing.T) {
	t.Parallel()
	lines := strings.Split(strings.TrimSuffix(Layout{}.Lines([][]string{{"key", "holder"}, {"日本語", "a"}, {"🔒-lock", "b"}, {"plain", "c"}}), "\n"), "\n")
	at := -1
	for _, line := range lines {
		before := Width(line[:strings.LastIndex(line, " ")])
		if at >= 0 && before != at {
			t.Errorf("%d columns before the last one, %d above: %q", before, at, line)
		}
		at = before
	}
	if got := Shortened("日本語", 5); got != "日本…" {
		t.Errorf("%q", got)
	}
}
