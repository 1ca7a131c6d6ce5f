package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The sample has these medians: 16 goroutines of redquorum make 13,500 pairs a second,
// 4.5 times those of redsync (3 and 6), with 6.5 allocations (6 and 7).
func TestBounds(t *testing.T) {
	const what = `"benchmark": "LockUnlock/lib=redquorum/goroutines=16", `
	for _, test := range []struct {
		name, bound, want string
		kept              bool
	}{
		{"a ratio that is not", what + `"unit": "pairs/s", "to": "redsync", "atLeast": 4.6`,
			"pairs/s is 4.5 times that of redsync (3 to 6 in 2 repetitions), want at least 4.6", false},
		{"a value that is kept", what + `"unit": "allocs/op", "atMost": 6.5`,
			"allocs/op is 6.5 (6 to 7 in 2 repetitions), want at most 6.5", true},
		{"a value that is not", what + `"unit": "allocs/op", "atMost": 6.4`,
			"allocs/op is 6.5 (6 to 7 in 2 repetitions), want at most 6.4", false},
		{"the least is within it", what + `"unit": "allocs/op", "atMost": 6, "best": true`, "want the best at most 6", true},
		{"the greatest is within it", what + `"unit": "pairs/s", "to": "redsync", "atLeast": 6, "best": true`, "want the best at least 6", true},
		{"below both", what + `"unit": "allocs/op", "atLeast": 7, "atMost": 8`, "want at least 7 and at most 8", false},
		{"zero is a bound", what + `"unit": "allocs/op", "atMost": 0`, "want at most 0", false},
		{"no limit", what + `"unit": "allocs/op"`, "allocs/op is 6.5", false},
		{"a unit that is not there", what + `"unit": "x", "atMost": 9`, "x was not measured, want at most 9", false},
		{"a library that is not there", what + `"unit": "pairs/s", "to": "x", "atMost": 9`,
			"pairs/s was not measured together with that of x", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := check(t, "[{"+test.bound+"}]")
			verdict := "ok  "
			if !test.kept {
				verdict = "FAIL"
			}
			if !strings.HasPrefix(got, verdict) || !strings.Contains(got, test.want) || strings.Count(got, "\n") != 1 {
				t.Errorf("%q: want %s and %q, in one line", got, verdict, test.want)
			}
			switch {
			case test.kept && err != nil:
				t.Errorf("error %v: want none", err)
			case !test.kept && (err == nil || !strings.Contains(err.Error(), "1 of 1 bounds")):
				t.Errorf("error %v: want that 1 of 1 bounds is not kept", err)
			}
		})
	}
}

func TestBoundsThatCannotBeRead(t *testing.T) {
	for bounds, want := range map[string]string{
		``:                  "EOF",
		`[]`:                "0 of 0 bounds",
		`[{"atmostly": 1}]`: "unknown field",
		`[{"atMost": "1"}]`: "cannot unmarshal",
	} {
		if got, err := check(t, bounds); err == nil || !strings.Contains(err.Error(), want) || got != "" {
			t.Errorf("%s: error %v, output %q: want %q in the error and no output", bounds, err, got, want)
		}
	}
}

// The bounds that `make bench-check` uses can be read.
func TestTheRecordedBounds(t *testing.T) {
	got, err := check(t, text(t, filepath.Join("..", "..", "bounds.json")))
	if err == nil || !strings.Contains(err.Error(), "are not kept") || strings.Count(got, "\n") < 9 {
		t.Errorf("error %v after\n%s", err, got)
	}
}

// check compares the sample with bounds as the command does.
func check(t *testing.T, bounds string) (string, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "bounds.json")
	if err := os.WriteFile(file, []byte(bounds), 0o644); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	err := run(filepath.Join("testdata", "sample.txt"), "", file, &out)
	return out.String(), err
}
