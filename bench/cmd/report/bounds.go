package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
)

// A bound is what the median of a unit has to keep, or its best repetition.
type bound struct {
	// Benchmark is its name as the go command prints it, without "Benchmark"
	// and GOMAXPROCS.
	Benchmark string `json:"benchmark"`
	Unit      string `json:"unit"`
	// To names a library: not the value is meant, but its ratio to that
	// library's in the same repetition.
	To string `json:"to,omitempty"`
	// One of these, or both. Exactly the bound is still within it.
	AtLeast *float64 `json:"atLeast,omitempty"`
	AtMost  *float64 `json:"atMost,omitempty"`

	// Best has the best repetition count, not the median: for what other work
	// on the machine only ever makes worse, as allocations.
	Best bool `json:"best,omitempty"`

	what id // Benchmark, parsed
}

// readBounds reads a file that holds a JSON array of bounds.
func readBounds(file string) ([]bound, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var bounds []bound
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.DisallowUnknownFields() // a misspelt bound would never be broken
	if err := decoder.Decode(&bounds); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(bounds) == 0 {
		return nil, fmt.Errorf("%s: no bounds", file)
	}
	for i := range bounds {
		if err := bounds[i].complete(); err != nil {
			return nil, fmt.Errorf("%s: bound %d: %w", file, i+1, err)
		}
	}
	return bounds, nil
}

func (b *bound) complete() error {
	name := namePattern.FindStringSubmatch(b.Benchmark)
	if name == nil || name[5] != "" {
		return fmt.Errorf(`benchmark is %q: want a name such as "LockUnlock/lib=redquorum/goroutines=16"`, b.Benchmark)
	}
	if b.Unit == "" {
		return errors.New(`unit is missing: want one of a benchmark's, such as "allocs/op"`)
	}
	if b.AtLeast == nil && b.AtMost == nil {
		return errors.New("neither atLeast nor atMost: want one of them or both")
	}
	var err error
	b.what, _, err = idOf(name)
	return err
}

// check says for every bound whether the measurements keep it, a line each, and
// returns how many they do not. What was not measured is not kept.
func (m *measurements) check(bounds []bound) (report string, broken int) {
	var lines strings.Builder
	for _, b := range bounds {
		verdict := "ok  "
		s := b.spread(m)
		if !b.keptBy(s) {
			verdict = "FAIL"
			broken++
		}
		fmt.Fprintf(&lines, "%s  %s: %s\n", verdict, b.what, b.sentence(s))
	}
	return lines.String(), broken
}

func (b *bound) spread(m *measurements) spread {
	if b.To != "" {
		return ratios(m.series[b.what], m.series[b.what.of(b.To)], b.Unit)
	}
	return of(m.series[b.what], b.Unit)
}

func (b *bound) keptBy(s spread) bool {
	low, high := s.median, s.median
	if b.Best {
		low, high = s.least, s.most
	}
	return s.n > 0 &&
		(b.AtLeast == nil || high >= *b.AtLeast) &&
		(b.AtMost == nil || low <= *b.AtMost)
}

// sentence is such as "pairs/s is 5.27 times that of redsync (5.00 to 5.61 in 3
// repetitions), want at least 3".
func (b *bound) sentence(s spread) string {
	var text strings.Builder
	text.WriteString(b.Unit)
	switch {
	case s.n == 0 && b.To != "":
		fmt.Fprintf(&text, " was not measured together with that of %s", b.To)
	case s.n == 0:
		text.WriteString(" was not measured")
	default:
		fmt.Fprintf(&text, " is %.4g", s.median)
		if b.To != "" {
			fmt.Fprintf(&text, " times that of %s", b.To)
		}
		if s.n > 1 {
			fmt.Fprintf(&text, " (%.4g to %.4g in %d repetitions)", s.least, s.most, s.n)
		}
	}
	text.WriteString(", want")
	if b.Best {
		text.WriteString(" the best")
	}
	if b.AtLeast != nil {
		fmt.Fprintf(&text, " at least %v", *b.AtLeast)
	}
	if b.AtLeast != nil && b.AtMost != nil {
		text.WriteString(" and")
	}
	if b.AtMost != nil {
		fmt.Fprintf(&text, " at most %v", *b.AtMost)
	}
	return text.String()
}
