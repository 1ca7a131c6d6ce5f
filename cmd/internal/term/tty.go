package term

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/term"
)

// What is sent to the terminal: the other screen, no cursor, no wrapping at the
// right edge, and all of that undone.
const (
	enter = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J"
	leave = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l"
)

// A Terminal is one that is taken. It is safe for concurrent use.
type Terminal struct {
	in, out *os.File

	mu            sync.Mutex  // guards what follows, and is held while writing
	before        *term.State // of the keyboard; nil: it is not taken
	taken         bool
	shown         []string
	width, height int
}

// Take takes the terminal: out for the picture, and in for keys, unless it is no
// terminal. The caller must Release it, whatever happens.
func Take(in, out *os.File) (*Terminal, error) {
	t := &Terminal{in: in, out: out}
	return t, t.Retake()
}

// Retake takes the terminal again after Release, as after a suspension.
func (t *Terminal) Retake() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.taken {
		return nil
	}
	if readsKeys && term.IsTerminal(int(t.in.Fd())) {
		before, err := term.MakeRaw(int(t.in.Fd()))
		if err != nil {
			return err
		}
		t.before = before
	}
	t.taken, t.shown = true, nil
	_, err := io.WriteString(t.out, enter)
	return err
}

// HasKeys reports whether there is a keyboard.
func (t *Terminal) HasKeys() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.before != nil
}

// Release gives the terminal back as it was, until Retake. It is idempotent.
func (t *Terminal) Release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.taken {
		return
	}
	t.taken = false
	_, _ = io.WriteString(t.out, leave) // it may be gone
	if t.before != nil {
		_ = term.Restore(int(t.in.Fd()), t.before)
		t.before = nil
	}
}

// Size is that of the terminal now, 80 by 24 where it does not tell.
func (t *Terminal) Size() (width, height int) {
	width, height, err := term.GetSize(int(t.out.Fd()))
	if err != nil || width <= 0 || height <= 0 {
		return 80, 24
	}
	return width, height
}

// Draw shows the lines, which must be no wider than the terminal, and writes
// only those that have changed.
func (t *Terminal) Draw(lines []string) error {
	width, height := t.Size()
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.taken {
		return nil
	}
	var b strings.Builder
	if width != t.width || height != t.height {
		t.width, t.height, t.shown = width, height, nil
		b.WriteString("\x1b[2J")
	}
	lines = lines[:min(len(lines), height)]
	for i, line := range lines {
		if i < len(t.shown) && t.shown[i] == line {
			continue
		}
		at(&b, i)
		b.WriteString("\x1b[K" + line) // erased before: behind a full line the cursor is still on it
	}
	if len(lines) < len(t.shown) {
		at(&b, len(lines))
		b.WriteString("\x1b[J")
	}
	t.shown = append(t.shown[:0], lines...)
	if b.Len() == 0 {
		return nil
	}
	_, err := io.WriteString(t.out, b.String())
	return err
}

// at moves the cursor to the beginning of a row, counted from 0.
func at(b *strings.Builder, row int) { fmt.Fprintf(b, "\x1b[%d;1H", row+1) }
