package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/release"
	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/survey"
	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/words"
	tokens "github.com/redquorum/redquorum/internal/token"
	"github.com/redquorum/redquorum/redlock"
)

// A locksView shows what was found.
type locksView struct {
	out      io.Writer
	json     bool
	watching bool
	clear    bool       // the screen, before each look
	width    func() int // of the terminal; nil: nothing is cut
	limit    int
	now      func() time.Time
	renewals survey.Renewals
	looks    int
}

func newLocksView(a *app, o *locksOptions) *locksView {
	v := &locksView{out: a.out, json: o.json, watching: o.watch > 0, limit: o.limit, now: time.Now}
	if !o.json && isTerminal(a.out) {
		v.clear = v.watching && a.env("TERM") != "dumb"
		v.width = func() int { return columnsOf(a.out) }
	}
	return v
}

// show prints one look. What is printed is printed whole.
func (v *locksView) show(s *survey.Survey) error {
	v.renewals.Note(s.Locks)
	var text bytes.Buffer
	if v.json {
		if err := json.NewEncoder(&text).Encode(v.document(s)); err != nil {
			return err
		}
	} else {
		if v.clear {
			text.WriteString("\x1b[H\x1b[J")
		} else if v.looks > 0 {
			text.WriteByte('\n')
		}
		if err := v.print(&text, s); err != nil {
			return err
		}
	}
	v.looks++
	return emit(v.out, &text)
}

// shown is the locks that there is room for.
func (v *locksView) shown(s *survey.Survey) []survey.Lock {
	return s.Locks[:min(v.limit, len(s.Locks))]
}

// print is a look as people read it.
func (v *locksView) print(w io.Writer, s *survey.Survey) error {
	if locks := v.shown(s); len(locks) > 0 {
		rows := [][]string{{"key", "kind", "holder", "on", "left", "waiting", "fence", "token"}}
		if v.watching {
			rows[0] = []string{"key", "kind", "holder", "on", "left", "seen for", "renewed", "waiting", "fence", "token"}
		}
		for i := range locks {
			rows = append(rows, v.row(&locks[i]))
		}
		if v.width != nil {
			rows = fitted(rows, v.width())
		}
		if err := align(w, rows); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	v.sentence(w, v.sums(s))
	for i := range s.Masters {
		if m := &s.Masters[i]; m.Err != nil {
			v.sentence(w, fmt.Sprintf("✗ %s was not searched to its end: %s", m.Master, shortened(visible(redacted(m.Err.Error())), longestError)))
		}
	}
	v.sentence(w, cost(s))
	return nil
}

func (v *locksView) row(l *survey.Lock) []string {
	first := l.Holders[0]
	row := []string{unmoving(l.Key), string(l.Kind), lockHolder(l), lockOn(l), rowTTL(lockLeft(l))}
	if v.watching {
		row = append(row, v.watched(l.Key, first.Token)...)
	}
	waiting, fence, token := "–", "–", "–"
	switch {
	case l.Waiting < 0:
		waiting = "?"
	case l.Waiting > 0:
		waiting = strconv.Itoa(l.Waiting)
	}
	if l.Fence > 0 {
		fence = strconv.FormatUint(l.Fence, 10)
	}
	if first.Token != "" && len(l.Holders) == 1 {
		token = unmoving(tokens.Short(first.Token))
	}
	return append(row, waiting, fence, token)
}

// watched says for how long a hold was seen, and when it was seen to be renewed.
func (v *locksView) watched(key, token string) []string {
	w := v.renewals.Of(key, token)
	switch {
	case w == nil:
		return []string{"–", "–"}
	case w.Renewed.IsZero():
		return []string{seconds(v.now().Sub(w.Since)), "not seen"}
	default:
		return []string{seconds(v.now().Sub(w.Since)), "< " + seconds(v.now().Sub(w.Renewed)) + " ago"}
	}
}

// lockHolder names who holds it, or what stands there.
func lockHolder(l *survey.Lock) string {
	if l.Kind == survey.Readers && l.Readers > 1 {
		return words.Count(l.Readers, "reader")
	}
	name, first := "no name", l.Holders[0]
	if operator, ok := release.By(first.Token); ok {
		name = "released by " + unmoving(operator)
	} else if first.Owner != "" {
		name = unmoving(first.Owner)
	}
	if more := len(l.Holders) - 1; more > 0 {
		name += fmt.Sprintf(" and %d more", more)
	}
	return name
}

// lockOn is on how many masters the first holder stands, and what that amounts to
// where it is no quorum.
func lockOn(l *survey.Lock) string {
	on := fmt.Sprintf("%d of %d", l.Holders[0].Masters, len(l.Masters))
	switch l.Verdict {
	case redlock.VerdictHeld:
		return on
	case redlock.VerdictUnknown:
		return on + ", others silent"
	default:
		return on + ", no quorum"
	}
}

// lockLeft is until when it is held: by the last reader, of several.
func lockLeft(l *survey.Lock) time.Duration {
	left := l.Holders[0].TTL
	for i := range l.Holders {
		if h := &l.Holders[i]; h.Masters >= l.Need {
			left = max(left, h.TTL)
		}
	}
	return left
}

// sentence prints text that may take more lines than one on a terminal.
func (v *locksView) sentence(w io.Writer, text string) {
	if v.width != nil {
		text = words.Wrap("", 0, v.width(), text)
	}
	fmt.Fprintln(w, text)
}

// sums says how many there are, and what was left out.
func (v *locksView) sums(s *survey.Survey) string {
	if len(s.Locks) == 0 {
		return "No locks."
	}
	sums := sumsOf(s)
	text := fmt.Sprintf("%d locks are held.", sums.Held)
	if sums.Held == 1 {
		text = "1 lock is held."
	}
	if sums.Unheld > 0 {
		text += fmt.Sprintf(" %s without a quorum, which nobody holds, or which changed hands just now.", words.Count(sums.Unheld, "key"))
	}
	if sums.Foreign > 0 {
		text += fmt.Sprintf(" %s of no client of this library.", words.Count(sums.Foreign, "key"))
	}
	if more := len(s.Locks) - len(v.shown(s)); more > 0 {
		text += fmt.Sprintf(" Not shown, because of --limit %d: %d.", v.limit, more)
	}
	return text
}

// cost is the last line.
func cost(s *survey.Survey) string {
	var b strings.Builder
	var steps, keys, hidden int
	var slowest time.Duration
	for i := range s.Masters {
		m := &s.Masters[i]
		steps, keys, hidden = steps+m.Steps, keys+m.Keys, hidden+m.Hidden
		slowest = max(slowest, m.Slowest)
	}
	fmt.Fprintf(&b, "Searched %d of %s in %s: %s, %s seen", s.Searched(), words.Count(len(s.Masters), "master"), words.Span(s.Took), words.Count(steps, "step"), words.Count(keys, "key"))
	if hidden > 0 {
		fmt.Fprintf(&b, " (%d of them this user may not look at)", hidden)
	}
	fmt.Fprintf(&b, ", slowest step %s.", words.Span(slowest))
	if s.Cut {
		b.WriteString(" NOT ALL WAS SEEN.")
	}
	return b.String()
}

// lockSums are how many keys there are of what sort.
type lockSums struct {
	Held    int `json:"held"`    // by clients of this library
	Unheld  int `json:"unheld"`  // without a quorum, or not known
	Foreign int `json:"foreign"` // whoever has a quorum
}

func sumsOf(s *survey.Survey) (sums lockSums) {
	for i := range s.Locks {
		switch l := &s.Locks[i]; {
		case l.Kind == survey.Foreign:
			sums.Foreign++
		case l.Verdict == redlock.VerdictHeld:
			sums.Held++
		default:
			sums.Unheld++
		}
	}
	return sums
}

// leastWidth is to how much keys and names are cut off, before columns are left out.
const leastWidth = 12

// leftOut are the columns that a narrow terminal does without, in this order.
var leftOut = []string{"token", "fence", "seen for", "waiting", "kind"}

// fitted is a table for a terminal of so many columns.
func fitted(rows [][]string, width int) [][]string {
	widths := widthsOf(rows)
	for _, name := range leftOut {
		key, holder := slices.Index(rows[0], "key"), slices.Index(rows[0], "holder")
		spare := max(widths[key]-leastWidth, 0) + max(widths[holder]-leastWidth, 0)
		if tableWidth(widths)-spare <= width {
			break
		}
		if i := slices.Index(rows[0], name); i >= 0 {
			for j := range rows {
				rows[j] = slices.Delete(rows[j], i, i+1)
			}
			widths = slices.Delete(widths, i, i+1)
		}
	}
	key, holder := slices.Index(rows[0], "key"), slices.Index(rows[0], "holder")
	for tableWidth(widths) > width && max(widths[key], widths[holder]) > leastWidth {
		if widths[key] >= widths[holder] {
			widths[key]--
		} else {
			widths[holder]--
		}
	}
	for _, row := range rows {
		row[key], row[holder] = shortened(row[key], widths[key]), shortened(row[holder], widths[holder])
	}
	return rows
}

func widthsOf(rows [][]string) []int {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	return widths
}

// tableWidth is that of what align prints.
func tableWidth(widths []int) int {
	total := 1
	for _, w := range widths {
		total += 2 + w
	}
	return total
}
