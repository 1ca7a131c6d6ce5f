package main

import "slices"

// A spread is what several repetitions say of one quantity. Of no values it is
// the zero spread.
type spread struct {
	n                   int
	median, least, most float64
}

// spreadOf sorts a copy of the values. Of an even number the median is the mean
// of the two in the middle.
func spreadOf(values []float64) spread {
	n := len(values)
	if n == 0 {
		return spread{}
	}
	sorted := slices.Sorted(slices.Values(values))
	return spread{
		n:      n,
		median: (sorted[(n-1)/2] + sorted[n/2]) / 2,
		least:  sorted[0],
		most:   sorted[n-1],
	}
}

// of is the spread of one unit; repetitions that lack it are left out.
func of(series []metrics, unit string) spread {
	var values []float64
	for _, m := range series {
		if v, ok := m[unit]; ok {
			values = append(values, v)
		}
	}
	return spreadOf(values)
}

// ratios divides one series by another, repetition by repetition, for as many as
// both have.
func ratios(series, by []metrics, unit string) spread {
	var values []float64
	for i := range min(len(series), len(by)) {
		v, ok := series[i][unit]
		w, okBy := by[i][unit]
		if ok && okBy && w != 0 {
			values = append(values, v/w)
		}
	}
	return spreadOf(values)
}
