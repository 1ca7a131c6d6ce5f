package locks

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/explain"
	"github.com/redquorum/redquorum/cmd/internal/term"
	"github.com/redquorum/redquorum/internal/quorum"
	tokens "github.com/redquorum/redquorum/internal/token"
	"github.com/redquorum/redquorum/redlock"
)

// A locksView shows what was found.
type locksView struct {
	app.Looks
	layout func() term.Layout
	limit  int // how many locks people are shown
}

func newLocksView(a *app.App, o *locksOptions) *locksView {
	return &locksView{
		Looks: app.NewLooks(a, o.SharedFlags, o.watch), limit: mostShown,
		layout: func() term.Layout { return term.LayoutFor(a.Out) },
	}
}

// show prints one look.
func (v *locksView) show(s *Survey) error {
	if v.JSON {
		return v.Print(document(s), nil)
	}
	var text bytes.Buffer
	v.print(&text, s)
	return v.Print(nil, &text)
}

// shown returns the locks that people are shown.
func (v *locksView) shown(s *Survey) []Lock {
	return s.Locks[:min(v.limit, len(s.Locks))]
}

// print writes a look for people.
func (v *locksView) print(w *bytes.Buffer, s *Survey) {
	l := v.layout()
	sentence := func(text string) { l.Text(w, "", 0, text) }
	if locks := v.shown(s); len(locks) > 0 {
		table := term.Table{
			Rows:  [][]string{{"key", "kind", "holder", "on", "left", "waiting", "fence", "token"}},
			Spare: []int{7, 6, 5, 1},
		}
		for i := range locks {
			table.Rows = append(table.Rows, tableRow(&locks[i]))
		}
		if !l.Fits(l.Lines(table.Rows)) {
			shorten(l, table.Rows)
		}
		l.Table(w, table)
		w.WriteByte('\n')
	}
	if need := quorum.Need(len(s.Masters)); !s.Cut && s.Searched() < need {
		sentence(fmt.Sprintf("%d of %s could be searched, %d needed: who holds locks is not known.",
			s.Searched(), term.Count(len(s.Masters), "master"), need))
	} else {
		sentence(v.sums(s))
	}
	for i := range s.Masters {
		if m := &s.Masters[i]; m.err != nil {
			why := term.Shortened(term.Visible(m.Error), term.LongestError)
			sentence(fmt.Sprintf("✗ %s was not searched to its end: %s", m.Master, why))
		}
	}
	sentence(cost(s))
}

// shorten cuts keys to a quarter of the columns. Holders, which say where to look, get the rest. If
// that is too little for user@host/pid, it also cuts the words after the number of masters.
func shorten(l term.Layout, rows [][]string) {
	for _, row := range rows {
		row[0] = term.Shortened(row[0], max(l.Columns/4, leastWidth))
	}
	room := roomForHolders(l, rows)
	if slices.ContainsFunc(rows, func(row []string) bool { return min(term.Width(row[2]), usualHolder) > room }) {
		for _, row := range rows {
			row[3], _, _ = strings.Cut(row[3], ",")
		}
		room = roomForHolders(l, rows)
	}
	for _, row := range rows {
		row[2] = term.Shortened(row[2], max(room, leastWidth))
	}
}

// roomForHolders returns the columns that keys, numbers of masters and times leave.
func roomForHolders(l term.Layout, rows [][]string) int {
	var others [][]string
	for _, row := range rows {
		others = append(others, []string{row[0], "", row[3], row[4]})
	}
	widest := 0
	for line := range strings.Lines(l.Lines(others)) {
		widest = max(widest, term.Width(strings.TrimRight(line, "\n")))
	}
	return l.Columns - widest
}

// tableRow returns the row of a lock for people.
func tableRow(l *Lock) []string {
	first := l.Holders[0]
	row := []string{term.Unmoving(l.Key), string(l.Kind), lockHolder(l), lockOn(l), explain.RowTTL(lockLeft(l))}
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
		token = term.Unmoving(tokens.Short(first.Token))
	}
	return append(row, waiting, fence, token)
}

// lockHolder returns who holds the lock, or what the key has instead.
func lockHolder(l *Lock) string {
	if l.Kind == Readers && l.Readers > 1 {
		return term.Count(l.Readers, "reader")
	}
	name, first := "no name", l.Holders[0]
	if l.Kind == Stuck {
		return "nobody: a " + explain.KindName(first.Type) + " that is no lock"
	}
	if operator, ok := explain.By(first.Token); ok {
		name = "released by " + term.Unmoving(operator)
	} else if first.Owner != "" {
		name = term.Unmoving(first.Owner)
	}
	if more := len(l.Holders) - 1; more > 0 {
		name += fmt.Sprintf(" and %d more", more)
	}
	return name
}

// lockOn returns on how many masters the first holder is, and what that means without a quorum.
func lockOn(l *Lock) string {
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

// lockLeft returns how long the lock is still held, of several readers by the last one.
func lockLeft(l *Lock) time.Duration {
	left := l.Holders[0].TTL
	for i := range l.Holders {
		if h := &l.Holders[i]; h.Masters >= l.Need {
			left = max(left, h.TTL)
		}
	}
	return left
}

// sums says how many locks there are, and what was left out.
func (v *locksView) sums(s *Survey) string {
	switch {
	case len(s.Locks) == 0 && s.Cut:
		return "No locks were found in that time."
	case len(s.Locks) == 0:
		return "No locks."
	}
	sums := sumsOf(s)
	text := fmt.Sprintf("%d locks are held.", sums.Held)
	if sums.Held == 1 {
		text = "1 lock is held."
	}
	if sums.Unheld > 0 {
		text += fmt.Sprintf(" %s without a quorum: not held, changing hands, or masters are silent.",
			term.Count(sums.Unheld, "key"))
	}
	if sums.Foreign > 0 {
		text += fmt.Sprintf(" %s of no client of this library.", term.Count(sums.Foreign, "key"))
	}
	if sums.Stuck > 0 {
		text += fmt.Sprintf(" %s that nobody will release.", term.Count(sums.Stuck, "key"))
	}
	if more := len(s.Locks) - len(v.shown(s)); more > 0 {
		text += fmt.Sprintf(" Not shown: %d more; a pattern narrows the search, and --json lists all.", more)
	}
	return text
}

// cost returns the last line: what the search has cost.
func cost(s *Survey) string {
	var b strings.Builder
	var steps, keys, hidden int
	var slowest int64
	for i := range s.Masters {
		m := &s.Masters[i]
		steps, keys, hidden = steps+m.Steps, keys+m.Keys, hidden+m.Hidden
		slowest = max(slowest, m.SlowestUS)
	}
	fmt.Fprintf(&b, "Searched %d of %s in %s: %s, %s seen",
		s.Searched(), term.Count(len(s.Masters), "master"), term.Span(s.Took),
		term.Count(steps, "step"), term.Count(keys, "key"))
	if hidden > 0 {
		fmt.Fprintf(&b, " (%d of them this user may not look at)", hidden)
	}
	fmt.Fprintf(&b, ", slowest step %s.", term.Span(time.Duration(slowest)*time.Microsecond))
	if s.Cut {
		b.WriteString(" NOT ALL WAS SEEN.")
	}
	return b.String()
}

// lockSums are the numbers of keys by kind.
type lockSums struct {
	Held    int `json:"held"`    // by clients of this library
	Unheld  int `json:"unheld"`  // without a quorum, or not known
	Foreign int `json:"foreign"` // with or without a quorum
	Stuck   int `json:"stuck"`   // never expire, or are no locks
}

func sumsOf(s *Survey) (sums lockSums) {
	for i := range s.Locks {
		switch l := &s.Locks[i]; {
		case l.Kind == Stuck:
			sums.Stuck++
		case l.Kind == Foreign:
			sums.Foreign++
		case l.Verdict == redlock.VerdictHeld:
			sums.Held++
		default:
			sums.Unheld++
		}
	}
	return sums
}

const (
	leastWidth  = 12 // how much of keys and names is shown on any terminal
	usualHolder = 24 // as user@host/pid mostly needs
)
