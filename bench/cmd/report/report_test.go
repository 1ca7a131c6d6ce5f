package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The medians and ratios of testdata/sample.md were computed by hand.
func TestTheTablesOfASample(t *testing.T) {
	page := written(t, "# Performance\n\nText.\n\n"+marker+"\n\nold tables\n")
	sample := filepath.Join("testdata", "sample.txt")
	if err := run(sample, page, "", nil); err != nil {
		t.Fatal(err)
	}
	if got, want := text(t, page), "# Performance\n\nText.\n\n"+marker+"\n\n"+text(t, filepath.Join("testdata", "sample.md")); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestInputThatCannotBeReported(t *testing.T) {
	const good = "BenchmarkLockUnlock/lib=redsync/goroutines=4 10 20 ns/op\n"
	for input, want := range map[string]string{
		"": "no result of a benchmark such as",
		"BenchmarkOther-2 10 20 ns/op\nBenchmarkLockUnlock/goroutines=1-2 1 2 ns/op\n": "no result of a benchmark such as",
		good + "BenchmarkLockUnlock/lib=redsync/goroutines=4 \t--- FAIL: BenchmarkX\n": "2: parsing iteration count",
		"BenchmarkLockUnlock/lib=redsync/goroutines=4 10 20\n":                         "1: missing units",
	} {
		var out strings.Builder
		if err := run(written(t, input), "", "", &out); err == nil || !strings.Contains(err.Error(), want) || out.Len() > 0 {
			t.Errorf("%.80s: error %v: want %q in it, and no report", input, err, want)
		}
	}
}

func written(t *testing.T, text string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func text(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
