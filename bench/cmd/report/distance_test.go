package main

import (
	"strings"
	"testing"
)

func TestDistancesAreATableWithARowForEachOperation(t *testing.T) {
	m := sample(t, `distances: a delaying network device
BenchmarkDistance/lib=redsync/micros=2000-2 1 2.5 first-rt 3.6 first-p90-rt 2000 trip-µs 90 hot-acq/s
BenchmarkDistance/lib=redquorum/micros=2000-2 1 3.05 first-rt 3.5 first-p90-rt 2 rlock-rt 2100 trip-µs 150 hot-acq/s 145 idle-client-KiB
BenchmarkDistance/lib=redquorum-strict/micros=2000-2 1 2.07 fenced-lock-all-rt 2100 trip-µs
`)
	got := m.distances()
	for _, want := range []string{
		"## Real distances\n", "The distance is that of a delaying network device.\n", "### All masters 2 ms away\n",
		"| operation | least possible | redquorum | redquorum, strict | redsync |\n",
		"| from Open to the first lock held, fleet declared | 2 | 3.05 (3.50) | – | 2.50 (3.60) |\n",
		"| RLock behind a writer | 1 | 2 | – | – |\n",
		"| hand-over of LockAll with a fencing token | 1 | – | 2.07 | – |\n",
		"A round trip took 2,100 µs. The hot key was acquired 150 times a second, with redsync 90 times. An idle client had 145 KiB on the heap.\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	if strings.Contains(got, "0.5 ms") || strings.Contains(got, "80 ms") {
		t.Errorf("a distance that was not measured has a table:\n%s", got)
	}
	report, err := m.markdown("")
	if err != nil || !strings.Contains(report, "## Real distances") {
		t.Errorf("the report has none: %v", err)
	}
}

func TestWithoutDistancesThereIsNoTableOfThem(t *testing.T) {
	m := sample(t, "BenchmarkLockUnlock/lib=redsync/goroutines=1-2 1 2.5 pairs/s\n")
	if got := m.distances(); got != "" {
		t.Errorf("%q", got)
	}
}
