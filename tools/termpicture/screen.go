package main

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A cell is one character of a screen, and how it is drawn.
type cell struct {
	r     rune
	style style
}

// A style is what the commands use of a terminal's.
type style struct {
	bold, dim bool
	colour    int // 31 to 36; 0: the default
}

// A screen is what a terminal shows. It knows the sequences that the commands write,
// and passes over others.
type screen struct {
	cols  int
	lines [][]cell // with those that have scrolled out of sight
	x, y  int
	pen   style
	rest  string // of a sequence that has not come as a whole
}

// write feeds what was printed.
func (s *screen) write(text string) {
	text, s.rest = s.rest+text, ""
	for text != "" {
		switch text[0] {
		case '\r':
			s.x, text = 0, text[1:]
		case '\n':
			s.y, text = s.y+1, text[1:]
		case 0x1b:
			n := sequence(text)
			if n == 0 {
				s.rest = text
				return
			}
			s.control(text[:n])
			text = text[n:]
		default:
			if !utf8.FullRuneInString(text) {
				s.rest = text
				return
			}
			r, n := utf8.DecodeRuneInString(text)
			if r >= ' ' && s.x < s.cols {
				s.put(r)
			}
			text = text[n:]
		}
	}
}

// sequence is how long the escape sequence is with which text begins; 0: it has no end
// yet.
func sequence(text string) int {
	if len(text) < 2 {
		return 0
	}
	if text[1] != '[' {
		return 2
	}
	for i := 2; i < len(text); i++ {
		if text[i] >= '@' && text[i] <= '~' {
			return i + 1
		}
	}
	return 0
}

func (s *screen) line() []cell {
	for len(s.lines) <= s.y {
		s.lines = append(s.lines, nil)
	}
	return s.lines[s.y]
}

func (s *screen) put(r rune) {
	line := s.line()
	for len(line) <= s.x {
		line = append(line, cell{r: ' '})
	}
	line[s.x] = cell{r, s.pen}
	s.lines[s.y] = line
	s.x++
}

func (s *screen) control(sequence string) {
	if sequence[1] != '[' {
		return
	}
	args, last := sequence[2:len(sequence)-1], sequence[len(sequence)-1]
	switch last {
	case 'm':
		for arg := range strings.SplitSeq(args, ";") {
			s.draw(number(arg, 0))
		}
	case 'K':
		if line := s.line(); s.x < len(line) {
			s.lines[s.y] = line[:s.x]
		}
	case 'J':
		s.lines = nil
	case 'H':
		y, x, _ := strings.Cut(args, ";")
		s.y, s.x = number(y, 1)-1, number(x, 1)-1
	case 'A':
		s.y = max(0, s.y-number(args, 1))
	case 'h':
		if args == "?1049" {
			s.lines, s.x, s.y = nil, 0, 0
		}
	}
}

func (s *screen) draw(code int) {
	switch {
	case code == 0:
		s.pen = style{}
	case code == 1:
		s.pen.bold = true
	case code == 2:
		s.pen.dim = true
	case code >= 31 && code <= 36:
		s.pen.colour = code
	case code == 39:
		s.pen.colour = 0
	}
}

func number(s string, without int) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return without
	}
	return n
}

// snapshot is a copy of the lines, without the empty ones at the end.
func (s *screen) snapshot() [][]cell {
	var lines [][]cell
	for _, line := range s.lines {
		lines = append(lines, slices.Clone(line))
	}
	for len(lines) > 0 && plain(lines[len(lines)-1]) == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// plain is a line without its styles.
func plain(line []cell) string {
	var b strings.Builder
	for _, c := range line {
		b.WriteRune(c.r)
	}
	return strings.TrimRight(b.String(), " ")
}
