package demo

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/words"
)

// A Screen is what a person sees of a run: lines and, on a terminal, one live
// line below them. It is safe for concurrent use.
type Screen struct {
	width  func() int // columns of the terminal
	colour bool
	live   bool

	// mu guards what follows, and is held while writing.
	mu     sync.Mutex
	w      io.Writer
	below  bool // the live line is on the terminal
	err    error
	failed func(error) // told of the first error of w; may be nil
}

// NewScreen makes a screen that writes to w. colour allows for colours; live
// says that w is a terminal of width() columns whose last line can be
// overwritten.
func NewScreen(w io.Writer, colour, live bool, width func() int) *Screen {
	return &Screen{w: w, colour: colour, live: live, width: width}
}

// Silent is a screen that shows nothing.
func Silent() *Screen { return NewScreen(io.Discard, false, false, nil) }

// onError sets who is told, once, that nothing can be written any more.
func (s *Screen) onError(f func(error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = f
}

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

// textWidth is where paragraphs break, on every screen alike.
const textWidth = 80

// paragraph prints text after a lead, which is indent columns wide, with what
// does not fit on the line below it.
func (s *Screen) paragraph(lead string, indent int, text string) {
	s.line("%s", words.Wrap(lead, indent, textWidth, text))
}

// show replaces the live line.
func (s *Screen) show(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if most := s.width() - 1; utf8.RuneCountInString(text) > most { // a line that wraps cannot be erased
		text = string([]rune(text)[:max(most, 0)])
	}
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
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		t := time.NewTicker(100 * time.Millisecond)
		defer t.Stop()
		turning := []rune(frames)
		for i := 0; ; i++ {
			s.show("   " + string(turning[i%len(turning)]) + " " + text())
			select {
			case <-t.C:
			case <-done:
				s.hide()
				return
			}
		}
	})
	return sync.OnceFunc(func() {
		close(done)
		wg.Wait()
	})
}

// Colours, all of them from the sixteen that follow the terminal's theme.
func (s *Screen) bold(text string) string  { return s.sgr("1", text) }
func (s *Screen) dim(text string) string   { return s.sgr("2", text) }
func (s *Screen) green(text string) string { return s.sgr("32", text) }
func (s *Screen) red(text string) string   { return s.sgr("31", text) }

func (s *Screen) sgr(code, text string) string {
	if !s.colour {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// mark is ✓ or ✗.
func (s *Screen) mark(ok bool) string {
	if ok {
		return s.green("✓")
	}
	return s.red("✗")
}

// pad fills text up with spaces, at its left if right is true.
func pad(text string, width int, right bool) string {
	space := strings.Repeat(" ", max(0, width-utf8.RuneCountInString(text)))
	if right {
		return space + text
	}
	return text + space
}
