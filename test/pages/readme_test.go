package pages

import (
	"path/filepath"
	"strings"
	"testing"
)

// The heart of the README's program is the package's Example.
func TestTheReadmesProgramIsTheExample(t *testing.T) {
	_, program, ok := strings.Cut(read(t, "../../README.md"), "```go\n")
	if !ok {
		t.Fatal("there is no Go program")
	}
	program, _, _ = strings.Cut(program, "```")

	_, body, _ := strings.Cut(read(t, "../../redlock/example_test.go"), "func Example() {")
	_, body, _ = strings.Cut(body, "defer client.Close()\n")
	body, _, ok = strings.Cut(body, "\t// Output:")
	if !ok || !strings.Contains(program, body) {
		t.Errorf("the program does not contain the Example's\n%s", body)
	}
}

// The README's rates are those of benchmarks.md, which make bench writes.
func TestTheReadmesRatesAreThoseOfTheBenchmarks(t *testing.T) {
	rows := func(file, heading string) [][]string {
		_, section, ok := strings.Cut(read(t, file), "\n## "+heading+"\n")
		if !ok {
			t.Fatalf("%s has no section %q", file, heading)
		}
		section, _, _ = strings.Cut(section, "\n## ")
		var rows [][]string
		for line := range strings.Lines(section) {
			if cells := strings.Split(strings.TrimSpace(line), " | "); len(cells) > 4 {
				cells[0] = strings.TrimPrefix(cells[0], "| ")
				rows = append(rows, cells)
			}
		}
		return rows[1:]
	}
	measured := make(map[string][]string)
	for _, row := range rows("../../docs/project/benchmarks.md", "Lock and unlock, a key for every goroutine") {
		measured[row[0]+" "+row[1]] = row
	}
	claims := 0
	for _, row := range rows("../../README.md", "Speed") {
		theirs, ours := measured[row[0]+" redsync"], measured[row[0]+" redquorum"]
		if theirs == nil {
			continue
		}
		claims++
		p50 := theirs[5] + " / " + ours[5]
		if row[1] != theirs[2] || row[2] != ours[2] || row[3] != ours[3] || row[4] != p50 {
			t.Errorf("the README says %q\nwhere redsync has %q\nand redquorum   %q", row, theirs, ours)
		}
	}
	if claims != 4 {
		t.Errorf("%d rows of the README are compared: want 4", claims)
	}
}

// What is measured stands in benchmarks.md, and the pages link to it there.
func TestOnlyTheBenchmarksSayWhatHeldLocksCost(t *testing.T) {
	links := 0
	for _, page := range append(pagesOf(t, "../../docs"), "../../README.md") {
		if filepath.Base(page) == "benchmarks.md" {
			continue
		}
		text := read(t, page)
		links += strings.Count(text, "benchmarks.md#") // TestLinksOfThePagesLeadSomewhere follows them
		if strings.Contains(text, "of a core") || strings.Contains(text, "of one core,") {
			t.Errorf("%s says itself what held locks cost: want a link to benchmarks.md", page)
		}
	}
	if links < 5 {
		t.Errorf("%d links are found", links)
	}
}
