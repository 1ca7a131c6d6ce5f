package sim

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redquorum/redquorum/internal/chance"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/script"
)

// A trace records the events of a run. Its hash does not depend on the order in which events of
// one instant were noted.
type trace struct {
	lanes   *lanes
	verbose bool

	mu    sync.Mutex // guards what follows; a leaf
	hash  uint64
	lines []line
}

type line struct {
	at   time.Duration
	text string
}

// note records an event that happens now.
func (t *trace) note(actor, what string) { t.detail(actor, what, nil) }

// detail is note with an error for people. The error's text depends on the order in which
// replies came, so it is not part of the hash.
func (t *trace) detail(actor, what string, err error) {
	t.add(actor, what, func() string {
		if err != nil {
			return what + ": " + err.Error()
		}
		return what
	})
}

// data is note for bytes on a connection, which are made readable only in a verbose trace.
func (t *trace) data(actor string, what func([]byte) string, b []byte) {
	t.add(actor, string(b), func() string { return what(b) })
}

// add adds an event to the hash, and a verbose trace also writes it down, unless its text is "".
func (t *trace) add(actor, what string, text func() string) {
	at := t.lanes.now()
	h := chance.Hash(uint64(at), chance.HashText(actor), chance.HashText(what))
	t.mu.Lock()
	defer t.mu.Unlock()
	t.hash += h
	if t.verbose {
		if text := text(); text != "" {
			t.lines = append(t.lines, line{at, actor + " " + text})
		}
	}
}

func (t *trace) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	slices.SortStableFunc(t.lines, func(a, b line) int {
		return cmp.Or(cmp.Compare(a.at, b.at), strings.Compare(a.text, b.text))
	})
	var b strings.Builder
	for _, l := range t.lines {
		fmt.Fprintf(&b, "%14.6f ms  %s\n", float64(l.at)/1e6, l.text)
	}
	return b.String()
}

var names = func() map[string]string {
	m := make(map[string]string)
	for _, s := range slices.Concat(script.All, guard.Scripts) {
		m[s.SHA], m[s.Source] = s.Name, s.Name
	}
	return m
}()

// commandText makes a command readable, with scripts by their names. It is "" for a command
// that begins a connection.
func commandText(b []byte) string {
	w := words(b)
	if len(w) == 0 || greets(w[0]) {
		return ""
	}
	if text := batchText(w); text != "" {
		return text
	}
	for i := range w {
		if name := names[w[i]]; name != "" {
			w[i] = name
		}
		if len(w[i]) > 70 || strings.ContainsAny(w[i], "\n") {
			w[i] = fmt.Sprintf("%.20q…", w[i])
		}
	}
	return strings.Join(w, " ")
}

// nameOf returns the name of a command, or of the script that it runs.
func nameOf(command []byte) string {
	w := words(command)
	if len(w) > 1 && names[w[1]] != "" {
		return names[w[1]]
	}
	return w[0]
}

func replyText(b []byte) string {
	s, _ := readable(b)
	if len(s) > 120 {
		s = s[:120] + "…"
	}
	return s
}

// readable returns the RESP value at the start of b as text, and the bytes behind it.
func readable(b []byte) (text string, rest []byte) {
	line, rest, _ := bytes.Cut(b, []byte("\r\n"))
	n, _ := strconv.Atoi(string(line[1:]))
	switch {
	case n < 0 && line[0] != ':':
		return "nil", rest
	case line[0] == '$':
		return strconv.Quote(string(rest[:n])), rest[n+2:]
	case line[0] == '*' || line[0] == '>':
		all := make([]string, n)
		for i := range all {
			all[i], rest = readable(rest)
		}
		return "{" + strings.Join(all, ", ") + "}", rest
	}
	return string(line[1:]), rest
}
