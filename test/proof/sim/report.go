package sim

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redquorum/redquorum/test/proof/history"
)

// Report describes a run for people: the violations, who believed to hold what and when, and
// all events until shortly after the first violation.
func (r *Result) Report() string {
	var b strings.Builder
	fmt.Fprintf(&b, "profile %s, seed %d: %d masters, %d clients, TTL %v, guard %s\n",
		r.Profile.Name, r.Seed, r.Profile.Masters, r.Profile.Clients, r.Profile.TTL, r.Profile.Guard)
	end := r.Stats.Virtual
	for _, v := range r.Violations {
		if v.Kind != history.Linear { // its time is the beginning of the history
			end = min(end, v.At)
		}
		fmt.Fprintf(&b, "VIOLATION %v\n", v)
	}
	end += 5 * time.Millisecond
	b.WriteString("who held what:\n")
	holds := slices.Clone(r.History)
	slices.SortStableFunc(holds, func(x, y *history.Hold) int { return cmp.Compare(x.Granted, y.Granted) })
	for _, h := range holds {
		fmt.Fprintf(&b, "    %v\n", h)
	}
	b.WriteString("what happened:\n")
	limit := fmt.Sprintf("%14.6f", float64(end)/1e6)
	for line := range strings.Lines(r.Timeline) {
		if line[:min(len(line), len(limit))] > limit { // right-aligned in one width

			fmt.Fprintf(&b, "    … and on, until %v\n", r.Stats.Virtual)
			break
		}
		b.WriteString(line)
	}
	return b.String()
}
