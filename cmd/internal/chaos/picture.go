package chaos

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redquorum/redquorum/cmd/internal/stage"
	"github.com/redquorum/redquorum/cmd/internal/term"
)

// A Picture draws Snapshots for a terminal.
type Picture struct {
	term.Paint
	Title    string // what it is about
	TTL      time.Duration
	Selected int  // the master that keys act on
	Keys     bool // there are some
	Clocks   bool // of the masters can be set
	Watching bool // nothing can be done to the masters
}

// columns of the masters' table, with the least width of the terminal at which
// each is shown.
var columns = []struct {
	head  string
	width int
	from  int
}{
	{"master", 15, 64},
	{"state", 8, 0},
	{"vote", 15, 0},
	{"clock", 8, 72},
	{"trip", 8, 56},
	{"names as holder", 18, 40},
}

// Draw is the picture, as lines of at most width columns, at most height of
// them.
func (p *Picture) Draw(s *Snapshot, width, height int) []string {
	since := "   " + clock(s.Elapsed)
	if !s.Begun {
		since = "   waiting for votes"
	}
	top := []string{p.Bold(fit(fit(p.Title, width-term.Width(since))+since, width)), ""}
	top = append(top, p.masters(s, width)...)
	top = append(top, "")
	top = append(top, p.facts(s, width)...)
	bottom := p.keys(width)
	if room := height - len(top) - len(bottom) - 1; room > 0 {
		top = append(top, "")
		top = append(top, p.events(s, width, room)...)
	}
	most := max(height-len(bottom), 0)
	for len(top) < most { // the keys are on the last line
		top = append(top, "")
	}
	return append(top[:most], bottom[:min(len(bottom), height)]...)
}

func (p *Picture) masters(s *Snapshot, width int) []string {
	heads := make([]string, len(columns))
	for i, c := range columns {
		heads[i] = c.head
	}
	lines := []string{p.Dim(p.row("   ", heads, nil, width))}
	for n, m := range s.Masters {
		lead := " " + strconv.Itoa(n+1) + " "
		if p.Keys && !p.Watching && n == p.Selected {
			lead = "▸" + strconv.Itoa(n+1) + " "
		}
		cells, paint := p.cells(&m)
		lines = append(lines, p.row(lead, cells, paint, width))
	}
	return lines
}

// cells are a master's, and how they are painted.
func (p *Picture) cells(m *MasterRow) (cells []string, paint []func(string) string) {
	vote, offset, trip, holder := "✓ counts", "–", "–", "–"
	voted, stated, off := p.Green, p.Plain, p.Plain
	if m.Serves() {
		trip = term.Span(m.RoundTrip)
	} else {
		vote, voted = "✗ "+m.Seen.Brief(), p.Red
	}
	if m.State != stage.SeenUp {
		stated = p.Yellow
	}
	if m.Known {
		offset = clockOffset(m.Offset)
		if m.Offset.Abs() > 20*time.Millisecond {
			off = p.Yellow
		}
	}
	switch {
	case m.Held != nil:
		holder = fmt.Sprintf("%s %.1f s", cmp.Or(m.Held.Owner, "somebody else"), m.Held.TTL.Seconds())
	case m.Answers:
		holder = "nobody"
	}
	return []string{m.Address, m.State, vote, offset, trip, holder},
		[]func(string) string{p.Plain, stated, voted, off, p.Plain, p.Plain}
}

// clockOffset is short, and shows whatever is wrong.
func clockOffset(d time.Duration) string {
	switch a := d.Abs(); {
	case a < time.Millisecond:
		return "right"
	case a < time.Second:
		return fmt.Sprintf("%+d ms", d.Milliseconds())
	case a < 100*time.Second:
		return fmt.Sprintf("%+.1f s", d.Seconds())
	default:
		return fmt.Sprintf("%+.0f min", d.Minutes())
	}
}

// row joins the cells that are shown at this width.
func (p *Picture) row(lead string, cells []string, paint []func(string) string, width int) string {
	line, used := lead, term.Width(lead)
	for i, c := range columns {
		if width < c.from || used+c.width > width && i > 0 {
			continue
		}
		cell := term.Padded(fit(cells[i], c.width), c.width)
		if i == len(columns)-1 {
			cell = fit(cells[i], width-used)
		}
		used += term.Width(cell) + 1
		if paint != nil {
			cell = paint[i](cell)
		}
		line += cell + " "
	}
	return strings.TrimRight(line, " ")
}

// facts are what the whole comes to.
func (p *Picture) facts(s *Snapshot, width int) []string {
	quorum := fmt.Sprintf("%d of %d serve, %d needed", s.Serving, len(s.Masters), s.Quorum)
	c := s.Counts
	counts := fmt.Sprintf("%d acquired, %d refused, %d lost", c.Acquired, c.Refused, c.Lost)
	if c.Failed > 0 {
		counts += fmt.Sprintf(", %d failed", c.Failed)
	}
	return []string{
		p.fact("quorum", p.Mark(s.Serving >= s.Quorum), quorum, width),
		p.holder(s, width),
		p.contenders(s, width),
		p.fact("counts", "", counts, width),
		p.fact("check", p.Mark(!s.Check.Broken()), checked(&s.Check), width),
	}
}

func checked(k *stage.CheckCounts) string {
	if k.Broken() {
		return fmt.Sprintf("BROKEN: %s at once, %d tokens fell, in %s", term.Count(k.Overlaps, "pair"), k.TokensFallen, term.Count(k.Holds, "hold"))
	}
	text := fmt.Sprintf("never two at once, in %s, %s", term.Count(k.Holds, "hold"), term.Count(k.Looks, "look"))
	if k.Tokens > 0 {
		text += fmt.Sprintf("; %d tokens, rising", k.Tokens)
	}
	return text
}

const factWidth = 11

// fact is a name and a text. mark may be empty, or painted.
func (p *Picture) fact(name, mark, text string, width int) string {
	room := width - factWidth
	if mark != "" {
		mark += " "
		room -= 2
	}
	return p.Dim(term.Padded(name, factWidth)) + mark + fit(text, room)
}

const barWidth = 20

// holder shows who holds, and the validity that is left.
func (p *Picture) holder(s *Snapshot, width int) string {
	if s.Holder == "" {
		return p.fact("holder", "", "nobody", width)
	}
	left := fmt.Sprintf(" %.1f s of %v", s.Left.Seconds(), p.TTL)
	text := p.fact("holder", "", term.Padded(s.Holder, 13), width)
	room := width - factWidth - 13
	if room > barWidth+term.Width(left) {
		full := min(int(float64(barWidth)*float64(s.Left)/float64(p.TTL)+0.5), barWidth)
		text += " " + p.Green(strings.Repeat("█", full)) + p.Dim(strings.Repeat("░", barWidth-full))
		room -= barWidth + 1
	}
	return text + fit(left, room)
}

// contenders are all of them on one line: by number, or, where they are too
// many, counted.
func (p *Picture) contenders(s *Snapshot, width int) string {
	var list []string
	count := map[string]int{}
	for i, state := range s.Contenders {
		count[state]++
		list = append(list, fmt.Sprintf("%d %s", i+1, state))
	}
	text := strings.Join(list, "  ")
	if term.Width(text) > width-factWidth {
		text = fmt.Sprintf("%d hold, %d wait, %d pause", count["holds"], count["waits"], count["pauses"])
	}
	return p.fact("contenders", "", text, width)
}

// events are the last ones, at most room of them.
func (p *Picture) events(s *Snapshot, width, room int) []string {
	last := s.Events[max(len(s.Events)-room, 0):]
	lines := make([]string, len(last))
	for i, e := range last {
		lines[i] = p.event(&e, width)
	}
	return lines
}

func (p *Picture) event(e *Event, width int) string {
	text := fit(e.Text, max(width-factWidth, 0))
	switch e.Kind {
	case EventFault:
		text = p.Bold(text)
	case EventViolation, EventFailure:
		text = p.Red(text)
	case EventMaster, EventQuorum, EventLoss:
		text = p.Yellow(text)
	}
	return p.Dim(term.Padded(e.at(), factWidth)) + text
}

// keyHelp is what keys do, longest first; the first that fits is shown.
var keyHelp = []string{
	"1-9 master  k kill  r restart  e restart empty  f freeze  c cut off  s skew  q quit",
	"1-9  k kill  r restart  e empty  f freeze  c cut  s skew  q quit",
	"1-9 k r(estart) e(mpty) f(reeze) c(ut) s(kew) q",
	"1-9 k r e f c s q",
}

// withoutSkewKey is for masters whose clocks cannot be set.
var withoutSkewKey = strings.NewReplacer("s skew  ", "", "s(kew) ", "", " s q", " q")

func (p *Picture) keys(width int) []string {
	help := "Ctrl-C ends"
	switch {
	case p.Keys && p.Watching:
		help = "q quit"
	case p.Keys:
		help = keyHelp[len(keyHelp)-1]
		for _, h := range keyHelp {
			if !p.Clocks {
				h = withoutSkewKey.Replace(h)
			}
			if term.Width(h) <= width {
				help = h
				break
			}
		}
	}
	return []string{p.Dim(fit(help, width))}
}

// clock is a time since the start.
func clock(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	d = d.Round(time.Second)
	return fmt.Sprintf("%d:%02d", int(d.Minutes()), int(d.Seconds())%60)
}

// fit cuts what is too long, between words.
func fit(s string, width int) string { return term.ShortenedToWords(s, max(width, 0)) }
