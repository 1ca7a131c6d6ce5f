// Availability prints how often N masters have no quorum, by how often one of them is
// away: the table of docs/explanation/scaling.md. It counts masters that fail on their own,
// not a network or an operator that takes several at once.
package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/redquorum/redquorum/internal/quorum"
)

func main() { write(os.Stdout) }

// rates are the shares of time for which one master is away.
var rates = []float64{0.05, 0.01, 0.001, 0.0001}

const year = 365 * 24 * time.Hour

// write prints the table in Markdown.
func write(w io.Writer) {
	fmt.Fprint(w, "| masters | may fail |")
	for _, rate := range rates {
		fmt.Fprintf(w, " each away %g %% |", rate*100)
	}
	fmt.Fprint(w, "\n|---|---|---|---|---|---|\n")
	for _, n := range []int{1, 2, 3, 4, 5, 7} {
		fmt.Fprintf(w, "| %d | %d |", n, n-quorum.Need(n))
		for _, rate := range rates {
			fmt.Fprintf(w, " %s |", span(without(n, rate)))
		}
		fmt.Fprintln(w)
	}
}

// without is the share of time in which so many of n masters are away that the others are
// no quorum.
func without(n int, rate float64) float64 {
	share := 0.0
	for away := n - quorum.Need(n) + 1; away <= n; away++ {
		p := 1.0
		for i := range away {
			p *= rate * float64(n-i) / float64(i+1)
		}
		for range n - away {
			p *= 1 - rate
		}
		share += p
	}
	return share
}

// span is a share of a year, for people.
func span(share float64) string {
	switch d := time.Duration(share * float64(year)); {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%.0f days", d.Hours()/24)
	case d >= 2*time.Hour:
		return fmt.Sprintf("%.0f h", d.Hours())
	case d >= 2*time.Minute:
		return fmt.Sprintf("%.0f min", d.Minutes())
	case d >= time.Second:
		return fmt.Sprintf("%.0f s", d.Seconds())
	default:
		return "below 1 s"
	}
}
