package doctor

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/term"
)

// A doctorView shows a report as people read it.
type doctorView struct {
	term.Paint
	out  io.Writer
	live bool
	wide term.Layout // layout of the table: in a pipe each master has one line
}

// text is the layout of everything else.
func (v *doctorView) text() term.Layout {
	if v.wide.Columns == 0 {
		return term.Layout{Columns: textColumns}
	}
	return term.Layout{Columns: min(v.wide.Columns, textColumns)}
}

// follow shows progress on a terminal until stop is called. In a pipe it prints one line at once.
func (v *doctorView) follow(total time.Duration) (stop func()) {
	if !v.live {
		_, _ = fmt.Fprintf(v.out, "examining the masters for %v\n\n", total) // print returns write errors
		return func() {}
	}
	began := time.Now()
	ended := app.Repeat(100*time.Millisecond, func() {
		seconds := time.Since(began).Seconds()
		_, _ = fmt.Fprintf(v.out, "\r\x1b[K  examining, %.1f s of %v", seconds, total) // print returns write errors
	})
	return func() {
		ended()
		_, _ = io.WriteString(v.out, "\r\x1b[K")
	}
}

// textColumns is the greatest width of the text.
const textColumns = 80

func (v *doctorView) print(r *Report) error {
	var b bytes.Buffer
	v.report(&b, r)
	return app.Emit(v.out, &b)
}

// report prints the report on one fleet.
func (v *doctorView) report(b *bytes.Buffer, r *Report) {
	v.verdict(b, r)
	rows := [][]string{{"master", "p50", "p99", "version", "role", "persistence", "eviction", "clock"}}
	for _, m := range r.Masters {
		if !m.Up {
			rows = append(rows, []string{m.Address, "✗ " + term.Clean(m.Error)})
			continue
		}
		p50, p99, clock := "–", "–", "–"
		if t := m.RoundTrips; t != nil {
			p50, p99 = micros(t.P50), micros(t.P99)
		}
		if m.Clock != nil {
			clock = m.Clock.text
		}
		rows = append(rows, []string{
			m.Address, p50, p99, known(m.Version), known(m.Role), m.Persistence, known(m.Eviction), clock,
		})
	}
	v.wide.Table(b, term.Table{Rows: rows, Spare: nil, Paragraph: func(row []string) string {
		if len(row) < len(rows[0]) {
			return row[0] + ": " + row[1]
		}
		return fmt.Sprintf("%s: p50 %s, p99 %s, version %s, %s, persistence %s, %s, clock %s",
			row[0], row[1], row[2], row[3], row[4], row[5], row[6], row[7])
	}})
	b.WriteByte('\n')
	v.findings(b, r.Findings)
}

// findings prints the findings, and how many there are.
func (v *doctorView) findings(b *bytes.Buffer, found []Finding) {
	counts := map[Severity]int{}
	for _, f := range found {
		counts[f.Severity]++
		v.finding(b, f)
	}
	if len(found) == 0 {
		fmt.Fprintf(b, "%s nothing was found\n", v.Green("✓"))
	} else {
		fmt.Fprintf(b, "%d serious, %s, %s\n",
			counts[Serious], term.Count(counts[Warning], "warning"), term.Count(counts[Note], "note"))
	}
}

// verdict prints the answer to the first question: can I lock now?
func (v *doctorView) verdict(b *bytes.Buffer, r *Report) {
	paint := v.Red
	if r.CanLock {
		paint = v.Green
	}
	b.WriteString(v.Bold(paint(term.Wrap("", 0, v.text().Columns, term.Clean(r.Verdict.String())))) + "\n")
	for _, help := range r.Help {
		v.wrapped(b, "  → ", 4, help)
	}
	b.WriteByte('\n')
}

func known(s string) string {
	if s == "" {
		return "unknown"
	}
	return term.Printable(s)
}

// finding prints one finding: what, why and what to do.
func (v *doctorView) finding(b *bytes.Buffer, f Finding) {
	heads := map[Severity]string{
		Serious: v.Red("✗ serious"), Warning: v.Yellow("! warning"), Note: v.Dim("· note   "),
	}
	what := strings.ToUpper(f.What[:1]) + f.What[1:]
	if len(f.Masters) > 0 {
		what = strings.Join(f.Masters, ", ") + ": " + f.What
	}
	const indent = 11
	v.wrapped(b, heads[f.Severity]+"  ", indent, what)
	space := strings.Repeat(" ", indent)
	v.wrapped(b, space, indent, f.Why)
	v.wrapped(b, space+v.Bold("→ "), indent+2, f.Do)
	b.WriteByte('\n')
}

func (v *doctorView) wrapped(b *bytes.Buffer, lead string, indent int, text string) {
	v.text().Text(b, lead, indent, term.Clean(text)) // the text may come from a master
}

// micros formats microseconds for people.
func micros(us float64) string { return term.Span(time.Duration(us * 1000)) }
