package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The medians and ratios were computed by hand.
const sampleReport = `Lock and unlock, a key for every goroutine (redsync / redquorum):

| goroutines | redsync pairs/s | redquorum pairs/s | ratio (least to greatest) | of the floor | p50 µs | p99 µs | allocs a pair | client CPU µs a pair | servers' CPU µs a pair |
|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|
| 1 | 1,250 | 1,750 | 1.50× (1.00 to 2.00) | – | 341 / 315 | 597 / 2,237 | 97 / 6 | 300 / 265 | 303 / 298 |
| 16 | 3,500 | 13,500 | 4.50× (3.00 to 6.00) | 0.71 | 2,908 / 938 | 8,063 / 4,675 | 97 / 6.50 | 177 / 35.7 | 161 / 57.8 |

goroutines=1: up to 0.05 % of the pairs of redquorum failed.

The same with one of five masters frozen (redquorum):

| goroutines | pairs/s | p50 µs | p99 µs | allocs a pair | client CPU µs a pair |
|---:|---:|---:|---:|---:|---:|
| 1 | 4,151 | 232 | 596 | 19 | 144 |

Medians of 2 repetitions, redis-server 7.0.15, redsync v4.18.1, redigo v1.9.3, go1.26.8, linux, amd64, Some Processor @ 2.50GHz, GOMAXPROCS 2.
`

func TestTheReportOfASample(t *testing.T) {
	out := filepath.Join(t.TempDir(), "report.md")
	if err := run(filepath.Join("testdata", "sample.txt"), out); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != sampleReport {
		t.Errorf("got:\n%s\nwant:\n%s", got, sampleReport)
	}
}

func TestWhatIsMissingIsSaid(t *testing.T) {
	const input = `
BenchmarkLockUnlock/lib=redsync/goroutines=4   10 20 ns/op 50 pairs/s
BenchmarkLockUnlock/lib=redsync/goroutines=4   10 20 ns/op 70 pairs/s
BenchmarkLockUnlock/lib=redquorum/goroutines=4 10 20 ns/op 100 pairs/s
BenchmarkLockUnlock/lib=redquorum/goroutines=8 10 20 ns/op 100 pairs/s
`
	m, err := parse(strings.NewReader(input))
	if err != nil {
		t.Fatal(err)
	}
	got, err := m.markdown()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| 4 | 60 | 100 | 2.00× (2.00 to 2.00) | – | – / – |",
		"| 8 | – | 100 | – | – | – / – |",
		"goroutines=4: results of redsync: 2, of redquorum: 1; the ratio leaves out",
		"goroutines=8: results of redsync: 0, of redquorum: 1;",
		"Medians of 1 to 2 repetitions, GOMAXPROCS 1.",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("not in the report: %s\n%s", want, got)
		}
	}
}

func TestInputThatCannotBeReported(t *testing.T) {
	const good = "BenchmarkLockUnlock/lib=redsync/goroutines=4 10 20 ns/op\n"
	for _, test := range []struct{ name, input, want string }{
		{"nothing", "", "no result of LockUnlock or OneFrozen"},
		{"other benchmarks", "BenchmarkOther-2 10 20 ns/op\nBenchmarkLockUnlock/goroutines=1-2 1 2 ns/op\nok x 1s\n", "no result"},
		{"a name alone", "BenchmarkLockUnlock/lib=redsync/goroutines=4\n", "no result"},
		{"a peer that is not known", "BenchmarkLockUnlock/lib=x/goroutines=4 1 2 ns/op\n", "no result"},
		{"a failure", good + "--- FAIL: BenchmarkLockUnlock\n", "line 2: the benchmarks failed"},
		{"a panic", good + "panic: x\n", "line 2: the benchmarks failed"},
		{"no iterations", good + "BenchmarkLockUnlock/lib=redsync/goroutines=4 x 20 ns/op\n", "line 2: BenchmarkLockUnlock/lib=redsync/goroutines=4: iterations"},
		{"a line cut short", "BenchmarkLockUnlock/lib=redsync/goroutines=4 10 20\n", "1 fields after the iterations"},
		{"no values", "BenchmarkLockUnlock/lib=redsync/goroutines=4 10\n", "0 fields after the iterations"},
		{"no number", "BenchmarkLockUnlock/lib=redsync/goroutines=4 10 ? ns/op\n", `ns/op is "?"`},
		{"a line without end", strings.Repeat("x", 1<<20), "token too long"},
	} {
		t.Run(test.name, func(t *testing.T) {
			m, err := parse(strings.NewReader(test.input))
			if err == nil {
				_, err = m.markdown()
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v: want %q in it", err, test.want)
			}
		})
	}
}

func TestAFileThatIsNotThereIsNamed(t *testing.T) {
	name := filepath.Join(t.TempDir(), "none.txt")
	if err := run(name, ""); err == nil || !strings.Contains(err.Error(), name) {
		t.Errorf("error %v: want the name in it", err)
	}
}

func TestSpread(t *testing.T) {
	for _, test := range []struct {
		values []float64
		want   spread
	}{
		{nil, spread{}},
		{[]float64{3}, spread{1, 3, 3, 3}},
		{[]float64{5, 1}, spread{2, 3, 1, 5}},
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
		0: "0", 0.125: "0.12", 6: "6", 6.5: "6.50", 9.994: "9.99", 9.996: "10", 12.34: "12.3", 99.94: "99.9",
		99.96: "100", 999.6: "1,000", 1234.5: "1,234", 1234567: "1,234,567",
	} {
		if got := number(spread{n: 1, median: value}); got != want {
			t.Errorf("%v: %s: want %s", value, got, want)
		}
	}
}
