package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchmath"
)

// measurements are the results of a file.
type measurements struct {
	config map[string]string // the "name: value" lines, by name; the last one counts
	series map[id][]metrics  // the results of the same thing, in the order of the file
}

// metrics are the values of one result, by unit.
type metrics map[string]float64

// An id says what was measured.
type id struct {
	benchmark string // without "Benchmark"
	lib       string
	by        string // what varies: "goroutines", "masters", "keys", …
	n         int    // how many of them
}

// of is the same measurement for another library.
func (i id) of(lib string) id {
	i.lib = lib
	return i
}

// in is the same library and size in another benchmark.
func (i id) in(benchmark string) id {
	i.benchmark = benchmark
	return i
}

// procsKey is where config has GOMAXPROCS.
const procsKey = "GOMAXPROCS"

// "LockUnlock/lib=redsync/goroutines=16-2"; the last number is GOMAXPROCS, left out
// where it is 1.
var namePattern = regexp.MustCompile(`^(\w+)/lib=([^/]+)/(\w+)=(\d{1,9})(?:-(\d+))?$`)

// idOf reads a benchmark's name; false: it is of another form.
func idOf(name string) (what id, procs string, ok bool) {
	part := namePattern.FindStringSubmatch(name)
	if part == nil {
		return id{}, "", false
	}
	n, err := strconv.Atoi(part[4])
	return id{part[1], part[2], part[3], n}, part[5], err == nil
}

// read reads what go test -bench prints. Benchmarks that are named otherwise are
// passed over. A result that cannot be read is an error: half a measurement would
// look like a whole one.
func read(file string) (*measurements, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	m := &measurements{config: make(map[string]string), series: make(map[id][]metrics)}
	records := benchfmt.NewReader(f, file)
	for records.Scan() {
		switch record := records.Result().(type) {
		case *benchfmt.SyntaxError:
			return nil, record
		case *benchfmt.Result:
			m.add(record)
		}
	}
	if len(m.series) == 0 && records.Err() == nil {
		return nil, fmt.Errorf("%s: no result of a benchmark such as LockUnlock/lib=redsync/goroutines=16", file)
	}
	return m, records.Err()
}

func (m *measurements) add(r *benchfmt.Result) {
	for _, c := range r.Config {
		m.config[c.Key] = string(c.Value)
	}
	what, procs, ok := idOf(r.Name.String())
	if !ok {
		return
	}
	if procs == "" {
		procs = "1"
	}
	m.config[procsKey] = procs
	values := make(metrics)
	for _, v := range r.Values {
		if v.OrigUnit != "" { // was made seconds of nanoseconds
			v.Value, v.Unit = v.OrigValue, v.OrigUnit
		}
		values[v.Unit] = v.Value
	}
	m.series[what] = append(m.series[what], values)
}

// A spread is what several repetitions say of one quantity. Of no values it is
// the zero spread.
type spread struct {
	n                   int
	median, least, most float64
}

// spreadOf has the median that benchstat shows.
func spreadOf(values []float64) spread {
	if len(values) == 0 {
		return spread{}
	}
	sample := benchmath.NewSample(values, &benchmath.DefaultThresholds)
	return spread{len(values), benchmath.AssumeNothing.Summary(sample, 0.95).Center, slices.Min(values), slices.Max(values)}
}

// of is the spread of one unit; repetitions that lack it are left out.
func (m *measurements) of(what id, unit string) spread {
	var values []float64
	for _, repetition := range m.series[what] {
		if v, ok := repetition[unit]; ok {
			values = append(values, v)
		}
	}
	return spreadOf(values)
}

// ratio divides one series by another, repetition by repetition, for as many as
// both have. benchstat would divide the medians: a machine that was slower for a
// while would then slow one side alone.
func (m *measurements) ratio(what, by id, unit string) spread {
	var values []float64
	for i := range min(len(m.series[what]), len(m.series[by])) {
		v, ok := m.series[what][i][unit]
		w, okBy := m.series[by][i][unit]
		if ok && okBy && w != 0 {
			values = append(values, v/w)
		}
	}
	return spreadOf(values)
}
