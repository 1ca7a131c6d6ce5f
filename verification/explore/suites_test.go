package main

import (
	"flag"
	"slices"
	"strings"
	"testing"

	"github.com/redquorum/redquorum/verification/search"
)

var long = flag.Bool("long", false, "explore the long configurations as well: a quarter of an hour, below 2 GB")

// ofEach runs a test on some configurations of each model.
func ofEach(t *testing.T, configs func(search.Suite) []search.Config, test func(*testing.T, search.Config, *search.Result)) {
	for _, s := range suites {
		for _, c := range configs(s) {
			t.Run(s.Name+"/"+c.Title(), func(t *testing.T) { test(t, c, explore(t, c)) })
		}
	}
}

func explore(t *testing.T, c search.Config) *search.Result {
	t.Helper()
	r, err := c.Explore(0)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func mustHold(t *testing.T, c search.Config, r *search.Result) {
	var way strings.Builder
	if r.Trace != nil {
		r.Trace.Print(&way)
	}
	if !r.Holds() {
		t.Fatalf("%s: %s after %d states\n%s", c.Summary(), r.Verdict(), r.States, way.String())
	}
	t.Logf("%d states, depth %d", r.States, r.Depth)
}

func TestEveryShortConfigurationHolds(t *testing.T) {
	ofEach(t, func(s search.Suite) []search.Config { return s.Short }, mustHold)
}

func TestEveryLongConfigurationHolds(t *testing.T) {
	if !*long {
		t.Skip("takes a quarter of an hour: go test ./explore -long -timeout 1h, or make verify")
	}
	ofEach(t, func(s search.Suite) []search.Config { return s.Long }, mustHold)
}

func TestMistakesCoveredByOtherRulesStaySafe(t *testing.T) {
	ofEach(t, func(s search.Suite) []search.Config { return s.Margins }, mustHold)
}

func TestEveryMistakeIsFound(t *testing.T) {
	ofEach(t, func(s search.Suite) []search.Config { return s.Mistakes }, func(t *testing.T, c search.Config, r *search.Result) {
		if r.Trace == nil {
			t.Fatalf("no violation within %d states (%s): %s", r.States, c.Summary(), r.Verdict())
		}
		// It is not enough that a second client could hold the lock.
		last := r.Trace.Steps[len(r.Trace.Steps)-1]
		switch {
		case strings.Contains(r.Trace.Violated, "token"): // two attempts must be complete
			if strings.Count(last.Believes, ", ") != 1 {
				t.Errorf("the trace ends with %q: %s; want two tokens", last.Believes, r.Trace.Violated)
			}
		case !strings.Contains(r.Trace.Violated, "two clients hold the lock"), strings.Count(last.Believes, ", ") != 1:
			t.Errorf("the trace ends with %q: %s; want two holders", last.Believes, r.Trace.Violated)
		}
		// Without the mistake there must be no violation.
		if r := explore(t, c.Correct()); r.Trace != nil {
			t.Errorf("without the mistake: %s", r.Verdict())
		}
	})
}

func TestEveryRuleHasAConfigurationWithoutIt(t *testing.T) {
	for _, s := range suites {
		var leftOut []string
		for _, c := range slices.Concat(s.Mistakes, s.Margins) {
			leftOut = append(leftOut, strings.Split(c.Title(), " + ")...)
		}
		for _, rule := range s.Rules {
			if !slices.Contains(leftOut, rule) {
				t.Errorf("%s: no configuration for: %s", s.Name, rule)
			}
		}
	}
}

func TestSearchThatReachesItsLimitProvesNothing(t *testing.T) {
	ofEach(t, func(s search.Suite) []search.Config { return s.Short[:1] }, func(t *testing.T, c search.Config, _ *search.Result) {
		r, err := c.Explore(100)
		if err != nil || r.Holds() || !r.Limited || r.Trace != nil || r.Verdict() != "not all states visited" {
			t.Errorf("after %d states: %s, holds %v (%v)", r.States, r.Verdict(), r.Holds(), err)
		}
	})
}
