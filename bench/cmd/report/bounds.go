package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
)

// A bound is a limit for the median of a unit. It is not kept if nothing was measured.
type bound struct {
	// Benchmark is its name as the go command prints it, without "Benchmark"
	// and GOMAXPROCS.
	Benchmark string
	Unit      string
	// To names a library. The bound is then for the ratio of the value to that library's
	// value in the same repetition.
	To string
	// One of these is set, or both. A value equal to the limit keeps it.
	AtLeast, AtMost *float64
	// Best makes the best repetition count, not the median. It is for units that other
	// work on the machine can only make worse, such as allocations.
	Best bool
}

// check compares with the bounds of a file, a JSON array, and prints a line for each.
func (m *measurements) check(file string, out io.Writer) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var bounds []bound
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields() // a misspelt limit would never be broken
	if err := decoder.Decode(&bounds); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	broken := 0
	for _, b := range bounds {
		s := b.measured(m)
		verdict := "ok  "
		if !b.keptBy(s) {
			verdict = "FAIL"
			broken++
		}
		if _, err := fmt.Fprintf(out, "%s  %s: %s\n", verdict, b.Benchmark, b.sentence(s)); err != nil {
			return err
		}
	}
	if broken > 0 || len(bounds) == 0 {
		return fmt.Errorf("%d of %d bounds of %s are not kept", broken, len(bounds), file)
	}
	return nil
}

func (b bound) measured(m *measurements) spread {
	what, _ := idOf(b.Benchmark)
	if b.To != "" {
		return m.ratio(what, b.To, b.Unit)
	}
	return spreadOf(m.series[what][b.Unit])
}

// keptBy is also false for a bound without a limit, which could never be broken.
func (b bound) keptBy(s spread) bool {
	low, high := s.median, s.median
	if b.Best {
		low, high = s.least, s.most
	}
	return s.n > 0 && (b.AtLeast != nil || b.AtMost != nil) &&
		(b.AtLeast == nil || high >= *b.AtLeast) &&
		(b.AtMost == nil || low <= *b.AtMost)
}

// sentence returns a text such as "pairs/s is 5.27 times that of redsync (5.00 to 5.61 in
// 3 repetitions), want at least 3".
func (b bound) sentence(s spread) string {
	text, limits := b.Unit+" was not measured", []string(nil)
	if s.n > 0 {
		text = fmt.Sprintf("%s is %.4g", b.Unit, s.median)
	}
	switch {
	case b.To != "" && s.n > 0:
		text += " times that of " + b.To
	case b.To != "":
		text += " together with that of " + b.To
	}
	if s.n > 1 {
		text += fmt.Sprintf(" (%.4g to %.4g in %d repetitions)", s.least, s.most, s.n)
	}
	if b.AtLeast != nil {
		limits = append(limits, fmt.Sprintf("at least %v", *b.AtLeast))
	}
	if b.AtMost != nil {
		limits = append(limits, fmt.Sprintf("at most %v", *b.AtMost))
	}
	text += ", want "
	if b.Best {
		text += "the best "
	}
	return text + strings.Join(limits, " and ")
}
