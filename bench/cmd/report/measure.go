package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"

	"golang.org/x/perf/benchfmt"
)

// measurements are the results of a file.
type measurements struct {
	config map[string]string           // the "name: value" lines, by name; the last one counts
	order  []id                        // in which they first occur
	series map[id]map[string][]float64 // by unit; a value for each repetition
}

// An id says what was measured.
type id struct {
	benchmark, lib string // without "Benchmark"
	by             string // what varies: "goroutines", "locks" …
	n              int    // how many of them
}

// An example is "LockUnlock/lib=redsync/goroutines=16-2"; the last number is GOMAXPROCS.
var namePattern = regexp.MustCompile(`^(\w+)/lib=([^/]+)/(\w+)=(\d{1,9})(?:-\d+)?$`)

func idOf(name string) (id, bool) {
	part := namePattern.FindStringSubmatch(name)
	if part == nil {
		return id{}, false
	}
	n, err := strconv.Atoi(part[4])
	return id{part[1], part[2], part[3], n}, err == nil
}

// read reads the output of go test -bench. It ignores benchmarks with other names. A result
// that it cannot read is an error: half a measurement would look like a whole one.
func read(file string) (*measurements, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	m := &measurements{config: make(map[string]string), series: make(map[id]map[string][]float64)}
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
	what, ok := idOf(r.Name.String())
	if !ok {
		return
	}
	if m.series[what] == nil {
		m.series[what] = make(map[string][]float64)
		m.order = append(m.order, what)
	}
	for _, v := range r.Values {
		if v.OrigUnit != "" { // the reader converted nanoseconds to seconds
			v.Value, v.Unit = v.OrigValue, v.OrigUnit
		}
		m.series[what][v.Unit] = append(m.series[what][v.Unit], v.Value)
	}
}

// A spread sums up the repetitions of one quantity. It is zero if there are none.
type spread struct {
	n                   int
	median, least, most float64
}

func spreadOf(values []float64) spread {
	n := len(values)
	if n == 0 {
		return spread{}
	}
	values = slices.Sorted(slices.Values(values))
	return spread{n, (values[(n-1)/2] + values[n/2]) / 2, values[0], values[n-1]}
}

// ratio divides the values of one library by those of another, repetition by repetition.
func (m *measurements) ratio(what id, lib, unit string) spread {
	by := what
	by.lib = lib
	var values []float64
	for i, v := range m.series[what][unit] {
		if w := m.series[by][unit]; i < len(w) && w[i] != 0 {
			values = append(values, v/w[i])
		}
	}
	return spreadOf(values)
}
