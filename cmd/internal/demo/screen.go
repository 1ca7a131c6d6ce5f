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

// A Screen is what a person sees of a run: lines and, on a terminal, one live
// line below them. It is safe for concurrent use.
type Screen struct {
	term.Paint
	width func() int // columns of the terminal
	live  bool

	// mu guards what follows, and is held while writing.
	mu     sync.Mutex
	w      io.Writer
	below  bool // the live line is on the terminal
	err    error
	failed func(error) // told of the first error of w; may be nil, and is set before the first line
}

// NewScreen makes a screen that writes to w. live
// says that w is a terminal of width() columns whose last line can be
// overwritten.
func NewScreen(w io.Writer, paint term.Paint, live bool, width func() int) *Screen {
	return &Screen{w: w, Paint: paint, live: live, width: width}
}

// Silent is a screen that shows nothing.
func Silent() *Screen { return NewScreen(io.Discard, false, false, nil) }

const eraseLine = "\r\x1b[K"

// write puts text on the terminal in place of the live line. The caller must
// hold mu.
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

// textWidth is where paragraphs break, but for narrower terminals.
const textWidth = 80

// paragraph prints text after a lead, which is indent columns wide, with what
// does not fit on the line below it.
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

// frames turn while something is under way.
const frames = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"

// follow keeps the live line up to date, ten times a second, until the function
// that it returns is called, which waits for its goroutine. Where nothing is
// live it does nothing.
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

// silence is for how long nothing is printed where no line is live.
const silence = 1900 * time.Millisecond

// during keeps the live line up to date while f runs, or prints a line now and then.
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
