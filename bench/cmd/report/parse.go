package main

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// measurements are the results of a file.
type measurements struct {
	// config are the "name: value" lines, by name; the last one counts.
	config map[string]string
	// series are the results of the same thing, in the order of the file.
	series map[id][]metrics
}

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

func (i id) String() string { return fmt.Sprintf("%s/lib=%s/%s=%d", i.benchmark, i.lib, i.by, i.n) }

// metrics are the values of one line, by unit.
type metrics map[string]float64

var (
	// "BenchmarkLockUnlock/lib=redsync/goroutines=16-2"; the last number is
	// GOMAXPROCS, left out where it is 1.
	namePattern   = regexp.MustCompile(`^Benchmark(\w+)/lib=([^/]+)/(\w+)=(\d+)(?:-(\d+))?$`)
	configPattern = regexp.MustCompile(`^([a-z][^\s:]*):\s+(.*)$`)
)

// procsKey is where config has GOMAXPROCS.
const procsKey = "GOMAXPROCS"

// parse reads what go test -bench prints, by the format of
// golang.org/design/14313-benchmark-format. Lines that are none of it, and
// benchmarks that are named otherwise, are passed over; a result that cannot be
// read is an error, and so is a benchmark that failed: half a measurement would
// look like a whole one.
func parse(r io.Reader) (*measurements, error) {
	m := &measurements{config: make(map[string]string), series: make(map[id][]metrics)}
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimRight(lines.Text(), " \t\r")
		// A benchmark that fails has had its name printed on the same line.
		if strings.Contains(line, "--- FAIL: ") || strings.HasPrefix(line, "panic: ") {
			return nil, fmt.Errorf("line %d: the benchmarks failed: %s", n, line)
		}
		if c := configPattern.FindStringSubmatch(line); c != nil {
			m.config[c[1]] = c[2]
			continue
		}
		if err := m.add(strings.Fields(line)); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	return m, lines.Err()
}

// add takes one line: name, iterations, and values with their units.
func (m *measurements) add(fields []string) error {
	if len(fields) < 2 { // nothing, or a name that -v prints by itself
		return nil
	}
	name := namePattern.FindStringSubmatch(fields[0])
	if name == nil {
		return nil
	}
	if _, err := strconv.ParseUint(fields[1], 10, 64); err != nil {
		return fmt.Errorf("%s: iterations are %q: want a number", fields[0], fields[1])
	}
	if len(fields)%2 != 0 || len(fields) == 2 {
		return fmt.Errorf("%s: %d fields after the iterations: want pairs of value and unit", fields[0], len(fields)-2)
	}
	what, procs, err := idOf(name)
	if err != nil {
		return fmt.Errorf("%s: %w", fields[0], err)
	}
	values := make(metrics)
	for i := 2; i < len(fields); i += 2 {
		value, err := strconv.ParseFloat(fields[i], 64)
		if err != nil {
			return fmt.Errorf("%s: %s is %q: want a number", fields[0], fields[i+1], fields[i])
		}
		values[fields[i+1]] = value
	}
	m.series[what] = append(m.series[what], values)
	m.config[procsKey] = procs
	return nil
}

// idOf takes what namePattern found.
func idOf(name []string) (what id, procs string, err error) {
	n, err := strconv.Atoi(name[4])
	if err != nil {
		return id{}, "", fmt.Errorf("%s: %w", name[3], err)
	}
	if procs = name[5]; procs == "" {
		procs = "1"
	}
	return id{benchmark: name[1], lib: name[2], by: name[3], n: n}, procs, nil
}
