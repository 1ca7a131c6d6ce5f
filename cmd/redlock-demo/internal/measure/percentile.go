// Package measure sums up what was measured.
package measure

import "time"

// Percentile is the smallest value that p percent of the sorted values do not
// exceed; 0 of none.
func Percentile(sorted []time.Duration, p int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	rank := (len(sorted)*p + 99) / 100
	return sorted[max(rank, 1)-1]
}
