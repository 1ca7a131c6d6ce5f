package main

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strconv"

	"golang.org/x/perf/benchfmt"
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
	// "LockUnlock/lib=redsync/goroutines=16-2"; the last number is GOMAXPROCS,
	// left out where it is 1.
	namePattern = regexp.MustCompile(`^(\w+)/lib=([^/]+)/(\w+)=(\d+)(?:-(\d+))?$`)
	// A benchmark that fails has had its name printed on the same line.
	failed = regexp.MustCompile(`(?m)^.*--- FAIL: .*$|^panic: .*$`)
)

// procsKey is where config has GOMAXPROCS.
const procsKey = "GOMAXPROCS"

// parse reads what go test -bench prints. Benchmarks that are named otherwise are
// passed over. A result that cannot be read is an error, and so is a benchmark that
// failed: half a measurement would look like a whole one.
func parse(r io.Reader) (*measurements, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	if at := failed.FindIndex(text); at != nil {
		line := 1 + bytes.Count(text[:at[0]], []byte("\n"))
		return nil, fmt.Errorf("line %d: the benchmarks failed: %s", line, text[at[0]:at[1]])
	}
	m := &measurements{config: make(map[string]string), series: make(map[id][]metrics)}
	records := benchfmt.NewReader(bytes.NewReader(text), "")
	for records.Scan() {
		switch record := records.Result().(type) {
		case *benchfmt.SyntaxError:
			return nil, fmt.Errorf("line %d: %s", record.Line, record.Msg)
		case *benchfmt.Result:
			if err := m.add(record); err != nil {
				_, line := record.Pos()
				return nil, fmt.Errorf("line %d: %w", line, err)
			}
		}
	}
	return m, records.Err()
}

func (m *measurements) add(r *benchfmt.Result) error {
	for _, c := range r.Config {
		m.config[c.Key] = string(c.Value)
	}
	name := namePattern.FindStringSubmatch(r.Name.String())
	if name == nil {
		return nil
	}
	what, procs, err := idOf(name)
	if err != nil {
		return fmt.Errorf("%s: %w", r.Name, err)
	}
	values := make(metrics)
	for _, v := range r.Values {
		if v.OrigUnit != "" { // was made seconds of nanoseconds
			v.Value, v.Unit = v.OrigValue, v.OrigUnit
		}
		values[v.Unit] = v.Value
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
