package main

import (
	"fmt"
	"strings"
)

// distanceTitle is that of the section with all distances.
const distanceTitle = "Real distances"

// distanceTables has a table for each distance, with a row for each operation, since all
// of them are in round trips.
var distanceTables = []struct {
	benchmark string
	micros    int
	title     string
}{
	{"Distance", 500, "All masters 0.5 ms away"},
	{"Distance", 2000, "All masters 2 ms away"},
	{"Distance", 20_000, "All masters 20 ms away"},
	{"DistanceMixed", 2000, "Two masters 0.3 ms away, two 2 ms, and one 80 ms"},
}

// distanceOps are the operations, and in how many round trips each could be done at
// best.
var distanceOps = []struct {
	unit, title string
	least       int
}{
	{"first", "from Open to the first lock held, fleet declared", 2},
	{"program", "from Open to the end of Close, one lock", 3},
	{"lock", "Lock", 1},
	{"unlock", "Unlock", 1},
	{"hand-over", "hand-over", 1},
	{"fenced", "hand-over with a fencing token", 1},
	{"lock-all", "hand-over of LockAll", 1},
	{"fenced-lock-all", "hand-over of LockAll with a fencing token", 1},
	{"lock-any", "hand-over of LockAny", 1},
	{"fenced-lock-any", "hand-over of LockAny with a fencing token", 1},
	{"rlock", "RLock behind a writer", 1},
	{"lock-behind-reader", "Lock behind the last reader", 1},
	{"hot", "one hot key, 16 clients: between two holds", 1},
}

const distanceText = "In round trips: what an operation took, divided by what a quorum of the masters takes to answer a PING at the same " +
	"distance; medians, and in parentheses the 90th percentile. A hand-over is counted from the call of Unlock in one client to the " +
	"return of the call that waits in another."

// distances has the tables of those distances that were measured; "": of none.
func (m *measurements) distances() string {
	parts := []string{"## " + distanceTitle, distanceText}
	if device := m.config["distances"]; device != "" {
		parts[1] += " The distance is that of " + device + "."
	}
	for _, d := range distanceTables {
		what := id{d.benchmark, ours, "micros", d.micros}
		if len(m.series[what]) == 0 {
			continue
		}
		rows := []string{line("operation", "least possible", label(ours), label(strict), label(peer)), "|:---|---:|---:|---:|---:|"}
		for _, op := range distanceOps {
			rows = append(rows, line(op.title, fmt.Sprint(op.least), m.trips(what, op.unit), m.trips(what.of(strict), op.unit), m.trips(what.of(peer), op.unit)))
		}
		note := fmt.Sprintf("A round trip took %s µs. The hot key was acquired %s times a second, with redsync %s times.",
			number(m.of(what, "trip-µs")), number(m.of(what, "hot-acq/s")), number(m.of(what.of(peer), "hot-acq/s")))
		if idle := m.of(what, "idle-client-KiB"); idle.n > 0 {
			note += fmt.Sprintf(" An idle client had %s KiB on the heap.", number(idle))
		}
		parts = append(parts, "### "+d.title, strings.Join(rows, "\n"), note)
	}
	if len(parts) == 2 {
		return ""
	}
	return strings.Join(parts, "\n\n")
}

// trips is a figure in round trips, with its 90th percentile if there is one.
func (m *measurements) trips(what id, unit string) string {
	text := number(m.of(what, unit+"-rt"))
	if p90 := m.of(what, unit+"-p90-rt"); p90.n > 0 {
		text += " (" + number(p90) + ")"
	}
	return text
}
