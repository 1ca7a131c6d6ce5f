package model

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// Summary is what was explored, beside the name: what differs from no bound at
// all.
func (c *Config) Summary() string {
	number := func(n int) string {
		if n == Any {
			return "any"
		}
		return fmt.Sprint(n)
	}
	inFlight := c.InFlight
	if inFlight == 0 {
		inFlight = newLayout(c.Clients).room
	}
	all := []string{
		fmt.Sprintf("N=%d C=%d", c.Masters, c.Clients),
		fmt.Sprintf("TTL %d drift %d/%d/%d", c.TTL, c.Drift, c.Fast, c.Slow),
		"attempts " + number(c.Attempts),
		fmt.Sprint("in flight ", inFlight),
	}
	if c.Extensions != 0 {
		all = append(all, "extensions "+number(c.Extensions))
	}
	if c.ExtendTTL != 0 {
		all = append(all, fmt.Sprint("to ", c.ExtendTTL))
	}
	if c.Restarts != 0 {
		all = append(all, "restarts "+number(c.Restarts))
	}
	if c.KeepsData {
		all = append(all, "data kept or not")
	}
	if c.Loss {
		all = append(all, "loss")
	}
	if c.Stragglers != 0 {
		all = append(all, "stragglers "+number(c.Stragglers))
	}
	return strings.Join(all, ", ")
}

// Verdict says in a few words what was found.
func (r *Result) Verdict() string {
	switch {
	case r.Trace != nil:
		return "violated: " + r.Trace.Violated
	case r.Limited:
		return "not all states visited"
	default:
		return "holds"
	}
}

// PrintHeader and Print write a table in Markdown, a row an exploration.
func PrintHeader(w io.Writer) {
	fmt.Fprintln(w, "| configuration | bounds | states | depth | time | memory | result |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|")
}

// Print writes one row.
func (r *Result) Print(w io.Writer) {
	fmt.Fprintf(w, "| %s | %s | %s | %d | %v | %d MB | %s |\n", r.Config.Name, r.Config.Summary(),
		thousands(r.States), r.Depth, r.Elapsed.Round(10*time.Millisecond), r.Bytes>>20, r.Verdict())
}

func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Print writes the way to the violation, a line a step.
func (t *Trace) Print(w io.Writer) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(tw, "tick\tdone\t")
	for m := range t.Steps[0].Masters {
		fmt.Fprintf(tw, "%s\t", masterName(m))
	}
	fmt.Fprintln(tw, "holds the lock, it believes")
	for _, s := range t.Steps {
		fmt.Fprintf(tw, "%d\t%s\t%s\t%s\n", s.Time, s.Did, strings.Join(s.Masters, "\t"), s.Believes)
	}
	_ = tw.Flush() // its errors are those of w, as with every print here
	fmt.Fprintln(w, t.Violated)
}
