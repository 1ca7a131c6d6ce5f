package faults

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// table has the results of the rows of this run.
var table results

type results struct {
	mu      sync.Mutex // guards entries and what is in them
	entries []*entry
}

// An entry is a line of the table.
type entry struct {
	row     row
	result  string
	worst   time.Duration
	bound   time.Duration // the bound for worst
	healed  time.Duration
	note    string
	results *results
}

// entry begins a line. The row counts as failed until became says otherwise.
func (t *results) entry(w row) *entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := &entry{row: w, result: "FAILED", results: t}
	t.entries = append(t.entries, e)
	return e
}

func (e *entry) became(result string) {
	e.results.mu.Lock()
	defer e.results.mu.Unlock()
	e.result = result
}

func (e *entry) measured(worst, bound, healed time.Duration, note string) {
	e.results.mu.Lock()
	defer e.results.mu.Unlock()
	e.worst, e.bound, e.healed, e.note = worst, bound, healed, note
}

// markdown returns the table, in the order of the rows of the matrix.
func (t *results) markdown() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var b strings.Builder
	b.WriteString("| fault | expected | result | worst latency (bound) | recovery |\n|---|---|---|---|---|\n")
	for _, w := range matrix() {
		for _, e := range t.entries {
			if e.row.fault != w.fault {
				continue
			}
			result := e.result
			if e.note != "" {
				result += "; " + e.note
			}
			worst := shown(e.worst)
			if worst != "" {
				worst += " (" + shown(e.bound) + ")"
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", w.fault, w.expect, result, worst, shown(e.healed))
		}
	}
	return b.String()
}

func shown(d time.Duration) string {
	switch {
	case d == 0:
		return ""
	case d < 100*time.Microsecond:
		return "0 ms"
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1f ms", d.Seconds()*1000)
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	default:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
}

// closingLine counts the rows by their results.
func (t *results) closingLine() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	held, others, failed := 0, 0, 0
	reasons := map[string]int{}
	for _, e := range t.entries {
		switch {
		case e.result == byOthers:
			others++
		case e.result == "held":
			held++
		case e.result == "FAILED":
			failed++
		default:
			reasons[e.result]++
		}
	}
	parts := []string{fmt.Sprintf("%d held, %d by other tests, %d failed", held, others, failed)}
	for reason, n := range reasons {
		parts = append(parts, fmt.Sprintf("%d %s", n, reason))
	}
	if n := t.missing(); n > 0 {
		parts = append(parts, fmt.Sprintf("%d not chosen", n))
	}
	return "faults: " + strings.Join(parts, "; ")
}

// missing returns how many rows were not chosen. Call it when all have ended.
func (t *results) missing() int {
	return len(matrix()) - len(t.entries)
}
