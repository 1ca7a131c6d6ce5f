package demo

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/term"
)

// A Screen shows a run to a person: lines and, on a terminal, one live line below them. It is
// safe for concurrent use.
type Screen struct {
	term.Paint
	width func() int // columns of the terminal
	live  bool

	// mu guards what follows, and is held while writing.
	mu     sync.Mutex
	w      io.Writer
	below  bool // the live line is on the terminal
	err    error
	failed func(error) // gets the first error of w; may be nil; set before the first line
}

// NewScreen makes a screen that writes to w. live says that w is a terminal of width() columns
// whose last line can be overwritten.
func NewScreen(w io.Writer, paint term.Paint, live bool, width func() int) *Screen {
	return &Screen{w: w, Paint: paint, live: live, width: width}
}

// Silent returns a screen that shows nothing.
func Silent() *Screen { return NewScreen(io.Discard, false, false, nil) }

const eraseLine = "\r\x1b[K"

// write puts text on the terminal in place of the live line. The caller must hold mu.
func (s *Screen) write(text string, below bool) {
	if s.err != nil {
		return
	}
	if s.below {
		text = eraseLine + text
	}
	s.below = below
	if _, s.err = io.WriteString(s.w, text); s.err != nil && s.failed != nil {
		s.failed(s.err)
	}
}

// line prints one line, or several.
func (s *Screen) line(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.write(fmt.Sprintf(format, args...)+"\n", false)
}

// textWidth is the width at which paragraphs break, except on narrower terminals.
const textWidth = 80

// paragraph prints text after a lead that is indent columns wide. Text that does not fit goes on
// lines below, indented as much.
func (s *Screen) paragraph(lead string, indent int, text string) {
	s.line("%s", strings.TrimRight(term.Wrap(lead, indent, s.columns(), text), " "))
}

// columns is how wide text may be.
func (s *Screen) columns() int {
	if s.live {
		return min(textWidth, s.width())
	}
	return textWidth
}

// show replaces the live line.
func (s *Screen) show(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text = term.Shortened(text, max(s.width()-1, 0)) // a line that wraps cannot be erased
	if !s.below {
		text = eraseLine + text
	}
	s.write(text, true)
}

// hide removes the live line.
func (s *Screen) hide() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.below {
		s.write("", false)
	}
}

// frames are the pictures of the spinner in the live line.
const frames = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"

// follow starts a goroutine that updates the live line ten times a second until stop is called.
// stop waits for it. On a screen that is not live, follow does nothing.
func (s *Screen) follow(text func() string) (stop func()) {
	if !s.live {
		return func() {}
	}
	turning, i := []rune(frames), 0
	ended := app.Repeat(100*time.Millisecond, func() {
		s.show("   " + string(turning[i%len(turning)]) + " " + text())
		i++
	})
	return sync.OnceFunc(func() {
		ended()
		s.hide()
	})
}

// silence is the pause between lines of progress on a screen that is not live.
const silence = 1900 * time.Millisecond

// during updates the live line while f runs. If there is none, it prints a line after each silence.
func (s *Screen) during(text func() string, f func()) {
	stop, began := s.follow(text), time.Now()
	if !s.live {
		stop = app.Repeat(silence, func() {
			if time.Since(began) >= silence {
				s.line("   … %s", text())
			}
		})
	}
	defer stop()
	f()
}
