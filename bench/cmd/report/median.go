package main

import (
	"slices"

	"golang.org/x/perf/benchmath"
)

// A spread is what several repetitions say of one quantity. Of no values it is
// the zero spread.
type spread struct {
	n                   int
	median, least, most float64
}

// spreadOf has the median that benchstat shows. It leaves the values as they are.
func spreadOf(values []float64) spread {
	if len(values) == 0 {
		return spread{}
	}
	sample := benchmath.NewSample(slices.Clone(values), &benchmath.DefaultThresholds)
	return spread{
		n:      len(values),
		median: benchmath.AssumeNothing.Summary(sample, 0.95).Center,
		least:  sample.Values[0],
		most:   sample.Values[len(values)-1],
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
// both have. benchstat would divide the medians: a machine that was slower for a
// while would then slow one side alone.
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
