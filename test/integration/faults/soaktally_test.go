package faults

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// A tally has the results of a soak, or of a leg.
type tally struct {
	done       map[string]int // operations by Op
	locked     map[string]int // acquisitions, by kind of lock
	faults     map[string]int // by kind
	rounds     int
	outages    int
	recoveries int
	slowest    time.Duration // the slowest recovery
	longest    time.Duration // the slowest operation on locks that nobody else wanted
	excused    int
	violations int
}

func newTally() *tally {
	return &tally{done: map[string]int{}, locked: map[string]int{}, faults: map[string]int{}}
}

// settle takes over the counts of the history.
func (t *tally) settle(h *history, excused int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t.done, t.locked, t.excused = maps.Clone(h.total), maps.Clone(h.locked), excused
}

func (t *tally) recovered(took time.Duration) {
	t.recoveries++
	t.slowest = max(t.slowest, took)
}

func (t *tally) add(u *tally) {
	for _, m := range []struct{ to, from map[string]int }{{t.done, u.done}, {t.locked, u.locked}, {t.faults, u.faults}} {
		for name, n := range m.from {
			m.to[name] += n
		}
	}
	t.rounds, t.outages, t.recoveries = t.rounds+u.rounds, t.outages+u.outages, t.recoveries+u.recoveries
	t.excused, t.violations = t.excused+u.excused, t.violations+u.violations
	t.slowest, t.longest = max(t.slowest, u.slowest), max(t.longest, u.longest)
}

func (t *tally) String() string {
	all := 0
	for _, n := range t.done {
		all += n
	}
	return fmt.Sprintf("%d operations (%s; locks by kind: %s), %d rounds of faults, %d of them outages (%s); worst latency %s; %d recoveries, the slowest %s; excused, since the machine stood still: %d",
		all, counted(t.done), counted(t.locked), t.rounds, t.outages, counted(t.faults), shown(t.longest), t.recoveries, shown(t.slowest), t.excused)
}

// counted is a line of names and numbers.
func counted(m map[string]int) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf("%s %d", name, m[name]))
	}
	return strings.Join(parts, ", ")
}
