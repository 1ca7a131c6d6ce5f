package main

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/bench"
	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/words"
)

// A benchView shows the progress, on a terminal, and the result.
type benchView struct {
	out   io.Writer
	live  bool
	shown bool // a line of progress
}

// progress replaces the live line.
func (v *benchView) progress(p bench.Progress) {
	if !v.live {
		return
	}
	v.shown = true
	_, _ = fmt.Fprintf(v.out, "\r\x1b[K  %s: %s, %s pairs", settingName(p.Setting.Guard, p.Setting.Fencing), words.Span(p.Elapsed), thousands(p.Pairs)) // the result's error tells
}

// done removes it.
func (v *benchView) done() {
	if v.shown {
		_, _ = io.WriteString(v.out, "\r\x1b[K")
	}
}

func settingName(guard string, fencing bool) string {
	if fencing {
		return "guard " + guard + ", fencing"
	}
	return "guard " + guard
}

// print prints the result as people read it.
func (v *benchView) print(r *bench.Result, each time.Duration) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s, %s, %s, TTL %v, %v a row\n", onWhat(r),
		words.Count(r.Goroutines, "goroutine"), words.Count(r.Keys, "key"), time.Duration(r.TTLMS)*time.Millisecond, each)
	for _, f := range r.Fleets {
		fmt.Fprintf(&b, "   fleet %q: %s of the keys, %s, %d a quorum\n", f.Name, thousands(uint64(f.Keys)), words.Count(f.Masters, "master"), f.Quorum)
	}
	b.WriteByte('\n')
	rows := [][]string{{"guard", "fencing", "pairs/s", "lock p50", "p90", "p99", "max", "unlock p50", "p99", "errors"}}
	for _, row := range r.Rows {
		fencing := "no"
		if row.Fencing {
			fencing = "yes"
		}
		if row.Unavailable != "" {
			rows = append(rows, []string{row.Guard, fencing, row.Unavailable})
			continue
		}
		failed := uint64(0)
		for _, e := range row.Errors {
			failed += e.Count
		}
		rows = append(rows, []string{
			row.Guard, fencing, thousands(uint64(row.PairsPerSec + 0.5)),
			micros(row.Lock.P50), micros(row.Lock.P90), micros(row.Lock.P99), micros(row.Lock.Max),
			micros(row.Unlock.P50), micros(row.Unlock.P99), thousands(failed),
		})
	}
	if len(r.Rows) == 0 {
		b.WriteString("nothing was measured\n")
	} else if err := align(&b, rows); err != nil {
		return err
	}
	for _, row := range r.Rows {
		for _, e := range row.Errors {
			fmt.Fprintf(&b, "\n%s: %s, %s: %s\n", settingName(row.Guard, row.Fencing), e.Kind, words.Count(int(e.Count), "time"), visible(redacted(e.First)))
		}
	}
	if r.Away != nil {
		fmt.Fprintf(&b, "\nout of reach all along, so nothing was written there: %s\n", strings.Join(r.Away, ", "))
	}
	for _, l := range r.Left {
		fmt.Fprintf(&b, "\nnot removed from %s: %s. The keys expire by themselves\n", l.Master, visible(redacted(l.Error)))
	}
	return emit(v.out, &b)
}

// onWhat is where it was measured, in few words.
func onWhat(r *bench.Result) string {
	if r.Fleets != nil {
		return fmt.Sprintf("keys spread over %s by their names", words.Count(len(r.Fleets), "fleet"))
	}
	return fmt.Sprintf("%s, %d a quorum", words.Count(r.Masters, "master"), r.Quorum)
}

func micros(us float64) string { return words.Span(time.Duration(us * 1000)) }

// thousands is a number with commas.
func thousands(n uint64) string {
	s := strconv.FormatUint(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
