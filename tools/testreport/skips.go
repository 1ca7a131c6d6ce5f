package main

import (
	"fmt"
	"regexp"
	"strings"
)

// logLine matches the start of what a test logs: the place, then the text.
var logLine = regexp.MustCompile(`^\s+[^\s:]+\.go:\d+: `)

// reasonOf finds in a skipped test's output the reason it gave: the last thing
// it logged, which may go on over several lines.
func reasonOf(output []string) string {
	var reason []string
	for _, text := range output {
		switch place := logLine.FindString(text); {
		case place != "":
			reason = []string{strings.TrimSpace(text[len(place):])}
		case strings.HasPrefix(text, "===") || strings.HasPrefix(strings.TrimSpace(text), "--- "):
		case reason != nil:
			reason = append(reason, strings.TrimSpace(text))
		}
	}
	if reason == nil {
		return "no reason given"
	}
	return strings.Join(reason, " ")
}

// skippedLines names every skipped test, one line for each package and reason,
// in the order in which they came up. It is empty when nothing was skipped.
func (r *report) skippedLines() string {
	type group struct{ pkg, reason string }
	var order []group
	tests := map[group][]string{}
	for _, s := range r.skips {
		g := group{s.pkg, s.reason}
		if tests[g] == nil {
			order = append(order, g)
		}
		tests[g] = append(tests[g], s.test)
	}
	var b strings.Builder
	for _, g := range order {
		fmt.Fprintf(&b, "%s: %s: %s\n", g.pkg, g.reason, strings.Join(tests[g], ", "))
	}
	return b.String()
}
