package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// marker is the line of the page after which the tables follow.
const marker = "<!-- make bench writes what follows -->"

// titles are the tables in order, and the units that each table shows.
var titles = []struct{ benchmark, title, units string }{
	{"LockUnlock", "Lock and unlock, a key for every goroutine",
		"pairs/s p50-µs p99-µs allocs/op client-cpu-µs/op server-cpu-µs/op"},
	{"OneFrozen", "The same with one of five masters frozen", "pairs/s p50-µs p99-µs allocs/op client-cpu-µs/op"},
	{"HandOver", "Hand-over from one client to another that waits", "p50-µs p99-µs"},
	{"Contended", "One hot key, each contender a client of its own", "acq/s p50-wait-ms p99-wait-ms jain attempts/acq"},
	{"Held", "Locks that are held and renewed while two of five masters are killed",
		"lost/op B/lock client-cpu-% goroutines/op renewals/s least-left-s"},
	{"Distance", "Masters at a distance, in round trips", "trip-µs lock-rt unlock-rt hand-over-rt"},
}

// tables returns the tables of the benchmarks that were measured.
func (m *measurements) tables() string {
	var all []string
	for _, t := range titles {
		rows := slices.DeleteFunc(slices.Clone(m.order), func(what id) bool { return what.benchmark != t.benchmark })
		if len(rows) == 0 {
			continue
		}
		slices.SortStableFunc(rows, func(a, b id) int { return a.n - b.n })
		units := strings.Fields(t.units)
		rated := strings.HasSuffix(units[0], "/s") &&
			slices.ContainsFunc(rows, func(what id) bool { return what.lib == "redsync" })
		head := []string{rows[0].by, "library"}
		for i, unit := range units {
			if head = append(head, unit); i == 0 && rated {
				head = append(head, "× redsync (least to greatest)")
			}
		}
		lines := []string{line(head), "|---:|:---" + strings.Repeat("|---:", len(head)-2) + "|"}
		for _, what := range rows {
			cells := []string{thousands(strconv.Itoa(what.n)), what.lib}
			for i, unit := range units {
				if cells = append(cells, number(spreadOf(m.series[what][unit]))); i == 0 && rated {
					cells = append(cells, times(m.ratio(what, "redsync", unit)))
				}
			}
			lines = append(lines, line(cells))
		}
		all = append(all, "## "+t.title+"\n\n"+strings.Join(lines, "\n"))
	}
	return m.conditions() + "\n\n" + strings.Join(all, "\n\n") + "\n"
}

// conditions lists the versions and the machine of the run, as far as the file has them.
func (m *measurements) conditions() string {
	most := 0
	for _, units := range m.series {
		for _, values := range units {
			most = max(most, len(values))
		}
	}
	text := fmt.Sprintf("Medians of %d repetitions", most)
	names := []string{
		"redis-server", "redsync", "redigo", "go-redis", "redislock", "rueidislock", "distances", "go", "cpu",
	}
	for _, key := range names {
		if value := m.config[key]; value != "" {
			text += ", " + strings.TrimPrefix(key+" "+value, "go ") // its value begins with "go"
		}
	}
	return text + "."
}

func line(cells []string) string { return "| " + strings.Join(cells, " | ") + " |" }

func times(s spread) string {
	if s.n == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f× (%.2f to %.2f)", s.median, s.least, s.most)
}

// number writes a median with about three digits, or with commas between the thousands.
func number(s spread) string {
	switch v := s.median; {
	case s.n == 0:
		return "–"
	case v < 99.95:
		return strconv.FormatFloat(v, 'g', 3, 64)
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
