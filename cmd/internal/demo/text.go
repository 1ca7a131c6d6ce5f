package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redquorum/redquorum/cmd/internal/explain"
	"github.com/redquorum/redquorum/cmd/internal/term"
)

// heading begins a numbered part of the run.
func (r *run) heading(title, text string) {
	r.part++
	r.Screen.line("")
	r.Screen.line("%s", r.Screen.Bold(fmt.Sprintf("%d  %s", r.part, title)))
	r.Screen.paragraph("   ", 3, r.Screen.Dim(text))
}

// outcome prints how something went.
func (r *run) outcome(ok bool, format string, args ...any) {
	r.Screen.paragraph("   "+r.Screen.Mark(ok)+" ", 5, fmt.Sprintf(format, args...))
}

// introduce prints what will be shown, and on which masters.
func (r *run) introduce() {
	s := r.Screen
	s.paragraph("", 0, s.Bold("One inventory, many buyers, and a lock on a quorum of Redis masters"))
	s.line("   %s, %s", count(r.Buyers, "buyer"), count(r.Stock, "piece"))
	s.line("   key %s, TTL %v", r.key, r.TTL)
	s.line("   %s %s, %d are a quorum", count(r.total, "master"), r.Cluster.Kind.location(), r.quorum)
	s.line("")
	s.masters(r.masters())
}

// conclude sets the verdict and prints the summary. err is why the run ended early, if it did.
func (r *run) conclude(ctx context.Context, err error) {
	res := r.result
	res.Duration = Millis(time.Since(r.began))
	var noQuorum *explain.NoQuorumError
	switch {
	case err == nil && res.Failed() == 0:
		res.Verdict = VerdictPassed
	case err == nil:
		res.Verdict = VerdictFailed
	case errors.As(err, &noQuorum):
		res.Verdict = VerdictNoQuorum
	case ctx.Err() != nil:
		res.Verdict = VerdictInterrupted
	default:
		res.Verdict = VerdictError
	}
	if err != nil {
		res.Error = err.Error()
		r.Screen.hide()
		return
	}
	r.summary()
}

// summary prints the numbers, the masters and the expectations.
func (r *run) summary() {
	s, res := r.Screen, r.result
	s.line("")
	s.line("%s", s.Bold("Summary"))
	rows := [][]string{{"phase", "masters up", "sales", "refused", "p50", "p99", "watched"}}
	for _, p := range res.Phases {
		up, refused := "–", "–"
		if p.Lock {
			up, refused = fmt.Sprintf("%d of %d", p.MastersUp, r.total), strconv.Itoa(p.Refused)
		}
		rows = append(rows, []string{
			p.Name, up, strconv.Itoa(p.Sales), refused,
			span(p.P50.duration()), span(p.P99.duration()), span(p.Duration.duration()),
		})
	}
	var table bytes.Buffer
	list := func(row []string) string { return strings.Join(row, ", ") }
	term.Layout{Columns: s.columns()}.Table(&table, term.Table{Rows: rows, Spare: []int{6, 3}, Paragraph: list})
	s.line("%s", strings.TrimSuffix(table.String(), "\n"))
	s.paragraph("   ", 3, s.Dim("p50 and p99 of a sale, from asking for the lock to having given it back"))
	s.line("")
	s.masters(res.Masters)
	s.line("")
	s.line("%s", s.Bold("Expectations"))
	for _, e := range res.Expectations {
		word := "ok     "
		if !e.OK {
			word = s.Red("FAILED ")
		}
		s.paragraph("   "+s.Mark(e.OK)+" "+word, 12, e.Name+": "+e.Detail)
	}
	for _, k := range res.Skipped {
		s.paragraph("   "+s.Dim("–")+" skipped ", 13, k.What+": "+k.Why)
	}
	s.line("")
	took := span(res.Duration.duration())
	if n := res.Failed(); n > 0 {
		s.line("%s %d of %s did not hold, in %s",
			s.Red(s.Bold("FAILED")), n, count(len(res.Expectations), "expectation"), took)
		return
	}
	s.line("%s all %s held, in %s", s.Green(s.Bold("PASSED")), count(len(res.Expectations), "expectation"), took)
}

var (
	count = term.Count
	span  = term.Span
)
