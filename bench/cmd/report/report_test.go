package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The medians and ratios of testdata/sample.md were computed by hand.
func TestTheReportOfASample(t *testing.T) {
	dir := t.TempDir()
	o := options{out: filepath.Join(dir, "report.md"), plot: filepath.Join(dir, "img", "rate.svg")}
	if err := os.Mkdir(filepath.Dir(o.plot), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := run(filepath.Join("testdata", "sample.txt"), o, nil); err != nil {
		t.Fatal(err)
	}
	if got, want := text(t, o.out), text(t, filepath.Join("testdata", "sample.md")); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	svg := text(t, o.plot)
	for decoder := xml.NewDecoder(strings.NewReader(svg)); ; {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{">redquorum<", ">redsync<", ">redsync, fail-fast<", ">floor (no library)<", ">goroutines<", ">16<", ">2,000<"} {
		if !strings.Contains(svg, want) {
			t.Errorf("not in the plot: %s", want)
		}
	}
	if strings.Contains(svg, label(goRedis)) {
		t.Errorf("%s is in the plot and was not measured", label(goRedis))
	}
}

// A curve goes up by goroutines, with the medians of the sample.
func TestTheCurveOfALibrary(t *testing.T) {
	m, err := read(filepath.Join("testdata", "sample.txt"))
	if err != nil {
		t.Fatal(err)
	}
	got := m.curve(ours)
	if len(got) != 2 || got[0].X != 1 || got[0].Y != 1750 || got[1].X != 16 || got[1].Y != 13500 {
		t.Errorf("%v: want 1,750 at 1 and 13,500 at 16", got)
	}
}

func TestAFamilyIsPublishedBesideTheOthers(t *testing.T) {
	const keys = "redis-server: 9.9\nBenchmarkKeys/lib=redquorum/keys=1-2 1 2.5 pairs/s\n"
	const handOver = "BenchmarkHandOver/lib=redquorum/duos=1-2 1 3.5 p50-µs\n"
	file := filepath.Join(t.TempDir(), "report.md")
	publish := func(results string) string {
		t.Helper()
		if err := run(written(t, results), options{out: file}, nil); err != nil {
			t.Fatal(err)
		}
		return text(t, file)
	}
	whole := publish(handOver)
	beside := publish(keys)
	if strings.Index(beside, "| 2.50 |") > strings.Index(beside, "| 3.50 |") ||
		!strings.Contains(beside, "\n\nMeasured by itself. One repetition, redis-server 9.9, GOMAXPROCS 2.\n") {
		t.Errorf("%s\nbecomes\n%s", whole, beside)
	}
	if again := publish(keys); again != beside {
		t.Errorf("a second time it is another page:\n%s", again)
	}
	if latest := publish(keys + handOver); strings.Contains(latest, "by itself") || !strings.Contains(latest, "redis-server 9.9") {
		t.Errorf("a whole run does not replace the page:\n%s", latest)
	}
	if err := os.WriteFile(file, []byte("# Benchmarks\n\nHead.\n\n## What was\n\nold\n\n## Real distances\n\nfar\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := publish(keys); strings.Contains(got, "What was") || !strings.Contains(got, "far") {
		t.Errorf("what is no longer written stays, or what is goes:\n%s", got)
	}
}

func TestWhatIsMissingIsSaid(t *testing.T) {
	var out strings.Builder
	err := run(written(t, `
BenchmarkLockUnlock/lib=redsync/goroutines=4   10 20 ns/op 50 pairs/s
BenchmarkLockUnlock/lib=redsync/goroutines=4   10 20 ns/op 70 pairs/s
BenchmarkLockUnlock/lib=redquorum/goroutines=4 10 20 ns/op 100 pairs/s
BenchmarkLockUnlock/lib=redquorum/goroutines=8 10 20 ns/op 100 pairs/s
`), options{}, &out)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| 4 | redsync | 60 | 1 | – | – |",
		"| 4 | redquorum | 100 | 2.00× (2.00 to 2.00) | – | – |",
		"| 8 | redquorum | 100 | – | – | – |",
		"goroutines=4: results of redsync: 2, of redquorum: 1; the ratio leaves out",
		"Medians of 1 to 2 repetitions, GOMAXPROCS 1.",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("not in the report: %s\n%s", want, out.String())
		}
	}
}

func TestInputThatCannotBeReported(t *testing.T) {
	const good = "BenchmarkLockUnlock/lib=redsync/goroutines=4 10 20 ns/op\n"
	for input, want := range map[string]string{
		"": "no result of a benchmark such as",
		"BenchmarkOther-2 10 20 ns/op\nBenchmarkLockUnlock/goroutines=1-2 1 2 ns/op\n": "no result of a benchmark such as",
		"BenchmarkLockUnlock/lib=x/goroutines=4 1 2 ns/op\n":                           "no result of any benchmark that",
		"BenchmarkLockUnlock/lib=redsync/locks=4 1 2 ns/op\n":                          "no result of any benchmark that",
		good + "BenchmarkLockUnlock/lib=redsync/goroutines=4 \t--- FAIL: BenchmarkX\n": "2: parsing iteration count",
		"BenchmarkLockUnlock/lib=redsync/goroutines=4 10 20\n":                         "1: missing units",
		strings.Repeat("x", 1<<20):                                                     "token too long",
	} {
		var out strings.Builder
		if err := run(written(t, input), options{}, &out); err == nil || !strings.Contains(err.Error(), want) || out.Len() > 0 {
			t.Errorf("%.80s: error %v: want %q in it, and no report", input, err, want)
		}
	}
	plot := filepath.Join(t.TempDir(), "rate.svg")
	if err := run(written(t, good), options{plot: plot}, io.Discard); err == nil || !strings.Contains(err.Error(), "no pairs/s") {
		t.Errorf("error %v: want that there is nothing to draw", err)
	}
	if _, err := os.Stat(plot); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v: want no file", err)
	}
}

func TestSpread(t *testing.T) {
	for _, test := range []struct {
		values []float64
		want   spread
	}{
		{nil, spread{}},
		{[]float64{3}, spread{1, 3, 3, 3}},
		{[]float64{9, 1, 2}, spread{3, 2, 1, 9}},
		{[]float64{4, 1, 8, 2}, spread{4, 3, 1, 8}},
	} {
		if got := spreadOf(test.values); got != test.want {
			t.Errorf("%v: %+v: want %+v", test.values, got, test.want)
		}
	}
}

func TestNumber(t *testing.T) {
	for value, want := range map[float64]string{
		0: "0", 0.125: "0.12", 0.00042: "0.00042", 0.0049: "0.0049", 0.0996: "0.10", 6: "6", 6.5: "6.50", 9.994: "9.99", 9.996: "10", 12.34: "12.3", 99.94: "99.9",
		99.96: "100", 999.6: "1,000", 1234.5: "1,234", 1234567: "1,234,567",
	} {
		if got := number(spread{n: 1, median: value}); got != want {
			t.Errorf("%v: %s: want %s", value, got, want)
		}
	}
}

func written(t *testing.T, results string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "results.txt")
	if err := os.WriteFile(file, []byte(results), 0o600); err != nil {
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
