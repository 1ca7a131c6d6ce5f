package main

import (
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
	got, err := os.ReadFile(o.out)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(filepath.Join("testdata", "sample.md"))
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestEveryFamilyHasColumnsOfItsOwn(t *testing.T) {
	seen := make(map[string]bool)
	for _, f := range families {
		if seen[f.benchmark] || f.by == "" || f.title == "" || len(f.libs) == 0 || len(f.columns) == 0 {
			t.Errorf("%s: a second time, or without a size, a title, a library or a column", f.benchmark)
		}
		seen[f.benchmark] = true
	}
}

func TestWhatIsMissingIsSaid(t *testing.T) {
	const input = `
BenchmarkLockUnlock/lib=redsync/goroutines=4   10 20 ns/op 50 pairs/s
BenchmarkLockUnlock/lib=redsync/goroutines=4   10 20 ns/op 70 pairs/s
BenchmarkLockUnlock/lib=redquorum/goroutines=4 10 20 ns/op 100 pairs/s
BenchmarkLockUnlock/lib=redquorum/goroutines=8 10 20 ns/op 100 pairs/s
`
	m := sample(t, input)
	got, err := m.markdown("")
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
		if !strings.Contains(got, want) {
			t.Errorf("not in the report: %s\n%s", want, got)
		}
	}
}

func TestInputThatCannotBeReported(t *testing.T) {
	const good = "BenchmarkLockUnlock/lib=redsync/goroutines=4 10 20 ns/op\n"
	for _, test := range []struct{ name, input, want string }{
		{"nothing", "", "no result of any benchmark"},
		{"other benchmarks", "BenchmarkOther-2 10 20 ns/op\nBenchmarkLockUnlock/goroutines=1-2 1 2 ns/op\nok x 1s\n", "no result"},
		{"a name alone", "BenchmarkLockUnlock/lib=redsync/goroutines=4\n", "no result"},
		{"a peer that is not known", "BenchmarkLockUnlock/lib=x/goroutines=4 1 2 ns/op\n", "no result"},
		{"a failure", good + "--- FAIL: BenchmarkLockUnlock\n", "line 2: the benchmarks failed"},
		{"a failure behind a name", good + "BenchmarkLockUnlock/lib=redsync/goroutines=4 \t--- FAIL: BenchmarkX\n", "line 2: the benchmarks failed"},
		{"a size beyond all bounds", "BenchmarkLockUnlock/lib=redsync/goroutines=99999999999999999999 1 2 ns/op\n", "value out of range"},
		{"another size", "BenchmarkLockUnlock/lib=redsync/locks=4 1 2 ns/op\n", "no result"},
		{"a panic", good + "panic: x\n", "line 2: the benchmarks failed"},
		{"no iterations", good + "BenchmarkLockUnlock/lib=redsync/goroutines=4 x 20 ns/op\n", "line 2: parsing iteration count"},
		{"a line cut short", "BenchmarkLockUnlock/lib=redsync/goroutines=4 10 20\n", "line 1: missing units"},
		{"no values", "BenchmarkLockUnlock/lib=redsync/goroutines=4 10\n", "line 1: missing measurements"},
		{"no number", "BenchmarkLockUnlock/lib=redsync/goroutines=4 10 ? ns/op\n", "line 1: parsing measurement"},
		{"a line without end", strings.Repeat("x", 1<<20), "token too long"},
	} {
		t.Run(test.name, func(t *testing.T) {
			m, err := parse(strings.NewReader(test.input))
			if err == nil {
				_, err = m.markdown("")
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v: want %q in it", err, test.want)
			}
		})
	}
}

func TestAFileThatIsNotThereIsNamed(t *testing.T) {
	name := filepath.Join(t.TempDir(), "none.txt")
	if err := run(name, options{}, io.Discard); err == nil || !strings.Contains(err.Error(), name) {
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
		0: "0", 0.125: "0.12", 0.00042: "0.00042", 0.0049: "0.0049", 0.0996: "0.10", 6: "6", 6.5: "6.50", 9.994: "9.99", 9.996: "10", 12.34: "12.3", 99.94: "99.9",
		99.96: "100", 999.6: "1,000", 1234.5: "1,234", 1234567: "1,234,567",
	} {
		if got := number(spread{n: 1, median: value}); got != want {
			t.Errorf("%v: %s: want %s", value, got, want)
		}
	}
}
