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

// A trace is what happened in a run. Its hash does not depend on the order in
// which what happened at one instant was noted.
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

// note takes notice of what happens now.
func (t *trace) note(who, what string) { t.detail(who, what, nil) }

// detail is note with what people may want to know beside it. An error names
// what had come by the time it was made, in the order of coming, so it is no
// part of the hash.
func (t *trace) detail(who, what string, err error) {
	t.add(who, what, func() string {
		if err != nil {
			return what + ": " + err.Error()
		}
		return what
	})
}

// data is note for bytes on a connection, which are put into words only where
// they are going to be read.
func (t *trace) data(who string, what func([]byte) string, b []byte) {
	t.add(who, string(b), func() string { return what(b) })
}

// add counts an event, and writes it down where people want to read of it; "" for what
// they do not want to know.
func (t *trace) add(who, what string, text func() string) {
	at := t.lanes.now()
	h := chance.Hash(uint64(at), chance.HashText(who), chance.HashText(what))
	t.mu.Lock()
	defer t.mu.Unlock()
	t.hash += h
	if t.verbose {
		if text := text(); text != "" {
			t.lines = append(t.lines, line{at, who + " " + text})
		}
	}
}

// text is the timeline.
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

// commandText is a command for people: scripts by their names; "" for what
// begins a connection.
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

// nameOf is what a command is called beside its reply: a script by its name.
func nameOf(command []byte) string {
	w := words(command)
	if len(w) > 1 && names[w[1]] != "" {
		return names[w[1]]
	}
	return w[0]
}

// replyText is a reply for people.
func replyText(b []byte) string {
	s, _ := readable(b)
	if len(s) > 120 {
		s = s[:120] + "…"
	}
	return s
}

// readable is the first value in RESP at the start of b, and what follows it.
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
