package chaos

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/words"
)

// A Picture draws Snapshots for a terminal.
type Picture struct {
	Title    string // what it is about
	TTL      time.Duration
	Colour   bool
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
	since := clock(s.Elapsed)
	if !s.Begun {
		since = "waiting for votes"
	}
	top := []string{p.bold(fit(p.Title+"   "+since, width)), ""}
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
	lines := []string{p.dim(p.row("   ", heads, nil, width))}
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
	voted, stated := p.green, p.plain
	switch {
	case !m.Votes:
		vote, voted = "✗ "+m.Standing, p.red
	case !m.Answers:
		vote, voted = "✗ no answer", p.red
	}
	if m.State != "up" {
		stated = p.yellow
	}
	if m.Known {
		offset = clockOffset(m.Offset)
	}
	if m.Votes && m.Answers {
		trip = words.Span(m.RoundTrip)
	}
	switch {
	case m.Answers && m.Holder == "":
		holder = "nobody"
	case m.Answers:
		holder = fmt.Sprintf("%s %.1f s", m.Holder, m.TTL.Seconds())
	}
	off := p.plain
	if m.Known && m.Offset.Abs() > 20*time.Millisecond {
		off = p.yellow
	}
	return []string{m.Address, m.State, vote, offset, trip, holder},
		[]func(string) string{p.plain, stated, voted, off, p.plain, p.plain}
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
	line, used := lead, utf8.RuneCountInString(lead)
	for i, c := range columns {
		if width < c.from || used+c.width > width && i > 0 {
			continue
		}
		cell := padded(fit(cells[i], c.width), c.width)
		if i == len(columns)-1 {
			cell = fit(cells[i], width-used)
		}
		used += utf8.RuneCountInString(cell) + 1
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
	mark := p.green("✓ ")
	if s.Serving < s.Quorum {
		mark = p.red("✗ ")
	}
	c := s.Counts
	counts := fmt.Sprintf("%d acquired, %d refused, %d lost", c.Acquired, c.Refused, c.Lost)
	if c.Failed > 0 {
		counts += fmt.Sprintf(", %d failed", c.Failed)
	}
	check, checkMark := p.checked(s)
	return []string{
		p.fact("quorum", mark, quorum, width),
		p.holder(s, width),
		p.contenders(s, width),
		p.fact("counts", "", counts, width),
		p.fact("check", checkMark, check, width),
	}
}

func (p *Picture) checked(s *Snapshot) (text, mark string) {
	k := s.Check
	if k.Broken() {
		return fmt.Sprintf("BROKEN: %s at once, %d tokens fell, in %s", words.Count(k.Overlaps, "pair"), k.TokensFallen, words.Count(k.Holds, "hold")), p.red("✗ ")
	}
	text = fmt.Sprintf("never two at once, in %s, %s", words.Count(k.Holds, "hold"), words.Count(k.Looks, "look"))
	if k.Tokens > 0 {
		text += fmt.Sprintf("; %d tokens, rising", k.Tokens)
	}
	return text, p.green("✓ ")
}

const factWidth = 11

// fact is a name and a text. mark may be painted and is two columns wide, or
// empty.
func (p *Picture) fact(name, mark, text string, width int) string {
	room := width - factWidth
	if mark != "" {
		room -= 2
	}
	return p.dim(padded(name, factWidth)) + mark + fit(text, room)
}

const barWidth = 20

// holder shows who holds, and the validity that is left.
func (p *Picture) holder(s *Snapshot, width int) string {
	if s.Holder == "" {
		return p.fact("holder", "", "nobody", width)
	}
	name := padded(s.Holder, 13)
	left := fmt.Sprintf(" %.1f s of %v", s.Left.Seconds(), p.TTL)
	bar := ""
	if width >= factWidth+13+barWidth+utf8.RuneCountInString(left)+1 {
		full := min(int(float64(barWidth)*float64(s.Left)/float64(p.TTL)+0.5), barWidth)
		bar = " " + p.green(strings.Repeat("█", full)) + p.dim(strings.Repeat("░", barWidth-full))
	}
	return p.dim(padded("holder", factWidth)) + fit(name, max(width-factWidth, 0)) + bar + fit(left, max(width-factWidth-13-visible(bar), 0))
}

// visible is how many columns a bar takes.
func visible(bar string) int {
	if bar == "" {
		return 0
	}
	return barWidth + 1
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
	if utf8.RuneCountInString(text) > width-factWidth {
		text = fmt.Sprintf("%d hold, %d wait, %d pause", count["holds"], count["waits"], count["pauses"])
	}
	return p.fact("contenders", "", text, width)
}

// events are the last ones, at most room of them.
func (p *Picture) events(s *Snapshot, width, room int) []string {
	last := s.Events[max(len(s.Events)-room, 0):]
	lines := make([]string, len(last))
	for i, e := range last {
		lines[i] = p.event(e, width)
	}
	return lines
}

func (p *Picture) event(e Event, width int) string {
	text := fit(e.Text, max(width-factWidth, 0))
	switch e.Kind {
	case EventFault:
		text = p.bold(text)
	case EventViolation, EventFailure:
		text = p.red(text)
	case EventMaster, EventQuorum, EventLoss:
		text = p.yellow(text)
	}
	return p.dim(padded(clock(e.At), factWidth)) + text
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
			if utf8.RuneCountInString(h) <= width {
				help = h
				break
			}
		}
	}
	return []string{p.dim(fit(help, width))}
}

// clock is a time since the start.
func clock(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	d = d.Round(time.Second)
	return fmt.Sprintf("%d:%02d", int(d.Minutes()), int(d.Seconds())%60)
}

func padded(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s)))
}

// fit cuts what is too long.
func fit(s string, width int) string {
	runes := []rune(s)
	switch {
	case len(runes) <= width:
		return s
	case width < 1:
		return ""
	default:
		return string(runes[:width-1]) + "…"
	}
}

func (p *Picture) plain(s string) string  { return s }
func (p *Picture) bold(s string) string   { return p.sgr("1", s) }
func (p *Picture) dim(s string) string    { return p.sgr("2", s) }
func (p *Picture) red(s string) string    { return p.sgr("31", s) }
func (p *Picture) green(s string) string  { return p.sgr("32", s) }
func (p *Picture) yellow(s string) string { return p.sgr("33", s) }

func (p *Picture) sgr(code, s string) string {
	if !p.Colour || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}
