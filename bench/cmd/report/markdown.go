package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const (
	lockUnlock = "LockUnlock"
	oneFrozen  = "OneFrozen"
	ours       = "redquorum"
	peer       = "redsync"
	floor      = "floor"
)

// Units, as the benchmarks name them.
const (
	pairsPerSecond = "pairs/s"
	p50            = "p50-µs"
	p99            = "p99-µs"
	allocs         = "allocs/op"
	clientCPU      = "client-cpu-µs/op"
	serverCPU      = "server-cpu-µs/op"
	failedShare    = "failed/op"
)

// markdown is the whole report.
func (m *measurements) markdown() (string, error) {
	var b strings.Builder
	for _, section := range []struct {
		benchmark string
		table     func(*strings.Builder, []int)
	}{
		{lockUnlock, m.compare},
		{oneFrozen, m.frozen},
	} {
		if rows := m.goroutines(section.benchmark); len(rows) > 0 {
			section.table(&b, rows)
			m.notes(&b, section.benchmark, rows)
		}
	}
	if b.Len() == 0 {
		return "", fmt.Errorf("no result of %s or %s", lockUnlock, oneFrozen)
	}
	if c := m.conditions(); c != "" {
		fmt.Fprintf(&b, "%s\n", c)
	}
	return b.String(), nil
}

// goroutines are the rows of a benchmark's table, ascending.
func (m *measurements) goroutines(benchmark string) []int {
	var rows []int
	for what := range m.series {
		if what.benchmark == benchmark && (what.lib == ours || what.lib == peer) {
			rows = append(rows, what.goroutines)
		}
	}
	slices.Sort(rows)
	return slices.Compact(rows)
}

// compare sets the libraries side by side: in the columns that have a slash, the
// peer stands before it.
func (m *measurements) compare(b *strings.Builder, rows []int) {
	fmt.Fprintf(b, "Lock and unlock, a key for every goroutine (%s / %s):\n\n", peer, ours)
	header(b, "goroutines", peer+" pairs/s", ours+" pairs/s", "ratio (least to greatest)",
		"of the floor", "p50 µs", "p99 µs", "allocs a pair", "client CPU µs a pair", "servers' CPU µs a pair")
	for _, n := range rows {
		theirs, own := m.series[id{lockUnlock, peer, n}], m.series[id{lockUnlock, ours, n}]
		least := m.series[id{lockUnlock, floor, n}]
		both := func(unit string) string {
			return number(of(theirs, unit)) + " / " + number(of(own, unit))
		}
		row(b, strconv.Itoa(n),
			number(of(theirs, pairsPerSecond)), number(of(own, pairsPerSecond)),
			ratio(ratios(own, theirs, pairsPerSecond)), number(ratios(own, least, pairsPerSecond)),
			both(p50), both(p99), both(allocs), both(clientCPU), both(serverCPU))
	}
	b.WriteByte('\n')
}

func (m *measurements) frozen(b *strings.Builder, rows []int) {
	fmt.Fprintf(b, "The same with one of five masters frozen (%s):\n\n", ours)
	header(b, "goroutines", "pairs/s", "p50 µs", "p99 µs", "allocs a pair", "client CPU µs a pair")
	for _, n := range rows {
		own := m.series[id{oneFrozen, ours, n}]
		cells := []string{strconv.Itoa(n)}
		for _, unit := range []string{pairsPerSecond, p50, p99, allocs, clientCPU} {
			cells = append(cells, number(of(own, unit)))
		}
		row(b, cells...)
	}
	b.WriteByte('\n')
}

// notes say what a reader of the table has to know: repetitions that are not
// complete, and pairs that failed.
func (m *measurements) notes(b *strings.Builder, benchmark string, rows []int) {
	for _, n := range rows {
		theirs, own := m.series[id{benchmark, peer, n}], m.series[id{benchmark, ours, n}]
		if benchmark == lockUnlock && len(theirs) != len(own) {
			fmt.Fprintf(b, "goroutines=%d: results of %s: %d, of %s: %d; the ratio leaves out those without a counterpart.\n\n",
				n, peer, len(theirs), ours, len(own))
		}
		for _, lib := range []string{peer, ours} {
			if s := of(m.series[id{benchmark, lib, n}], failedShare); s.most > 0 {
				fmt.Fprintf(b, "goroutines=%d: up to %.3g %% of the pairs of %s failed.\n\n", n, 100*s.most, lib)
			}
		}
	}
}

// conditions is one line about what the figures were measured with, as far as
// the file says.
func (m *measurements) conditions() string {
	parts := []string{m.repetitions()}
	for _, c := range []struct{ key, format string }{
		{"redis-server", "redis-server %s"},
		{"redsync", "redsync %s"},
		{"redigo", "redigo %s"},
		{"go", "%s"},
		{"goos", "%s"},
		{"goarch", "%s"},
		{"cpu", "%s"},
		{procsKey, "GOMAXPROCS %s"},
	} {
		if v := m.config[c.key]; v != "" {
			parts = append(parts, fmt.Sprintf(c.format, v))
		}
	}
	return strings.Join(parts, ", ") + "."
}

func (m *measurements) repetitions() string {
	var counts []int
	for _, series := range m.series {
		counts = append(counts, len(series))
	}
	least, most := slices.Min(counts), slices.Max(counts)
	switch {
	case least != most:
		return fmt.Sprintf("Medians of %d to %d repetitions", least, most)
	case most == 1:
		return "One repetition"
	default:
		return fmt.Sprintf("Medians of %d repetitions", most)
	}
}

func header(b *strings.Builder, cells ...string) {
	row(b, cells...)
	b.WriteString(strings.Repeat("|---:", len(cells)) + "|\n")
}

func row(b *strings.Builder, cells ...string) {
	b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}

// missing stands where nothing was measured.
const missing = "–"

// number writes a median with about three digits, and thousands apart.
func number(s spread) string {
	switch v := s.median; {
	case s.n == 0:
		return missing
	case v < 9.995:
		return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 2, 64), ".00")
	case v < 99.95:
		return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0")
	default:
		return thousands(strconv.FormatFloat(v, 'f', 0, 64))
	}
}

func thousands(digits string) string {
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

func ratio(s spread) string {
	if s.n == 0 {
		return missing
	}
	return fmt.Sprintf("%.2f× (%.2f to %.2f)", s.median, s.least, s.most)
}
