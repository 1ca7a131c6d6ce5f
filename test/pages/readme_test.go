package pages

import (
	"strings"
	"testing"
)

// The README's rates are those of performance.md, whose tables make bench writes.
func TestReadmeRatesMatchTheBenchmarks(t *testing.T) {
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
	for _, row := range rows("../../docs/project/performance.md", "Lock and unlock, a key for every goroutine") {
		measured[row[0]+" "+row[1]] = row
	}
	claims := 0
	for _, row := range rows("../../README.md", "Speed") {
		theirs, ours := measured[row[0]+" redsync"], measured[row[0]+" redquorum"]
		if theirs == nil {
			continue
		}
		claims++
		if row[1] != theirs[2] || row[2] != ours[2] || row[3] != ours[3] {
			t.Errorf("the README says %q\nwhere redsync has %q\nand redquorum   %q", row, theirs, ours)
		}
	}
	if claims != 2 {
		t.Errorf("%d rows of the README are compared: want 2", claims)
	}
}
