package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const distanceSample = `redis-server: 9.9
distances: a delaying network device
BenchmarkDistance/lib=redquorum/micros=2000-2 1 3.05 first-rt 2100 trip-µs 150 hot-acq/s
`

func sample(t *testing.T, text string) *measurements {
	t.Helper()
	m, err := parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func published(t *testing.T, file string, m *measurements) string {
	t.Helper()
	if err := publish(m, "", file); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestAFamilyIsPublishedBesideTheOthers(t *testing.T) {
	whole, err := os.ReadFile(filepath.Join("testdata", "sample.md"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "report.md")
	if err := os.WriteFile(file, whole, 0o644); err != nil {
		t.Fatal(err)
	}
	got := published(t, file, sample(t, distanceSample))
	if before, added, found := strings.Cut(got, "\n## Real distances\n"); !found || before != string(whole) {
		t.Errorf("what was there has changed:\n%s", got)
	} else if want := "Measured by itself. One repetition, redis-server 9.9,"; !strings.Contains(added, want) {
		t.Errorf("%q is missing in\n%s", want, added)
	}
	if again := published(t, file, sample(t, distanceSample)); again != got {
		t.Errorf("a second time it is another page:\n%s", again)
	}
	// Another family takes its place before, and the distances stay.
	const keys = "BenchmarkLockUnlock/lib=redsync/goroutines=1-2 1 2.5 pairs/s\n"
	got = published(t, file, sample(t, keys))
	if strings.Count(got, "\n## "+families[0].title+"\n") != 1 || !strings.Contains(got, "3.05") || strings.Contains(got, "sample.svg") {
		t.Errorf("%s", got)
	}
}

func TestAWholeRunReplacesThePage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "report.md")
	m := sample(t, distanceSample)
	want, err := m.markdown("")
	if err != nil {
		t.Fatal(err)
	}
	if got := published(t, file, m); got != want {
		t.Errorf("%s", got)
	}
	m = sample(t, strings.Replace(distanceSample, "3.05", "2.95", 1))
	if got := published(t, file, m); !strings.Contains(got, "| 2.95 |") || strings.Contains(got, "by itself") {
		t.Errorf("%s", got)
	}
}

func TestWhatIsNoLongerWrittenGoes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "report.md")
	const old = "# Benchmarks\n\nHead.\n\n## What was\n\nold\n\n## Real distances\n\nold\n"
	if err := os.WriteFile(file, []byte(old), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := published(t, file, sample(t, "BenchmarkLockUnlock/lib=redsync/goroutines=1-2 1 2.5 pairs/s\n")); strings.Contains(got, "What was") {
		t.Errorf("%s", got)
	}
}
