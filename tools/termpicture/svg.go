package main

import (
	"fmt"
	"html"
	"strings"
)

// Sizes of a character, in pixels. The text is stretched to them, so that columns
// stand below each other in any font.
const (
	charWidth  = 8.0
	lineHeight = 17
	margin     = 14
	titleBar   = 30
	frameTime  = 2.0 // seconds
)

var colours = map[int]string{31: "#ff7b72", 32: "#7ee787", 33: "#e3b341", 34: "#79c0ff", 35: "#d2a8ff", 36: "#56d4dd"}

// svg draws screens, one after the other if there are several.
func svg(frames [][][]cell, cols int, title string) string {
	rows := 0
	for _, f := range frames {
		rows = max(rows, len(f))
	}
	width, height := int(charWidth*float64(cols))+2*margin, rows*lineHeight+titleBar+margin
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img">`+"\n", width, height, width, height)
	fmt.Fprintf(&b, "<title>%s</title>\n<style>\n", html.EscapeString(title))
	b.WriteString("text { font: 13px ui-monospace, Menlo, Consolas, monospace; fill: #e6edf3; white-space: pre }\n")
	b.WriteString(".b { font-weight: bold } .d { fill: #8b949e }")
	for code := 31; code <= 36; code++ {
		fmt.Fprintf(&b, " .c%d { fill: %s }", code, colours[code])
	}
	b.WriteString("\n")
	if n := len(frames); n > 1 {
		total := frameTime * float64(n)
		// Where nothing moves the last screen is seen.
		fmt.Fprintf(&b, ".f { visibility: hidden; animation: show %gs step-end infinite } .f:last-child { visibility: visible }\n", total)
		b.WriteString("@media (prefers-reduced-motion) { .f { animation: none } }\n")
		fmt.Fprintf(&b, "@keyframes show { 0%% { visibility: visible } %.4f%% { visibility: hidden } }\n", 100/float64(n))
	}
	fmt.Fprintf(&b, "</style>\n<rect width=\"%d\" height=\"%d\" rx=\"8\" fill=\"#0d1117\"/>\n", width, height)
	for i, colour := range []string{"#ff5f57", "#febc2e", "#28c840"} {
		fmt.Fprintf(&b, "<circle cx=\"%d\" cy=\"15\" r=\"5\" fill=\"%s\"/>\n", 18+16*i, colour)
	}
	fmt.Fprintf(&b, "<text x=\"%d\" y=\"19\" class=\"d\" text-anchor=\"middle\">%s</text>\n", width/2, html.EscapeString(title))
	for i, frame := range frames {
		if len(frames) > 1 {
			fmt.Fprintf(&b, "<g class=\"f\" style=\"animation-delay: %gs\">\n", frameTime*float64(i-len(frames)))
		}
		for row, line := range frame {
			for _, s := range spans(line) {
				fmt.Fprintf(&b, "<text x=\"%g\" y=\"%d\" textLength=\"%g\"%s>%s</text>\n", margin+charWidth*float64(s.column), titleBar+lineHeight*row+13,
					charWidth*float64(len([]rune(s.text))), s.class(), html.EscapeString(s.text))
			}
		}
		if len(frames) > 1 {
			b.WriteString("</g>\n")
		}
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// A span is characters of one style without a gap of two.
type span struct {
	column int
	text   string
	style  style
}

func (s span) class() string {
	var names []string
	if s.style.bold {
		names = append(names, "b")
	}
	if s.style.dim {
		names = append(names, "d")
	}
	if colours[s.style.colour] != "" {
		names = append(names, fmt.Sprintf("c%d", s.style.colour))
	}
	if names == nil {
		return ""
	}
	return ` class="` + strings.Join(names, " ") + `"`
}

func spans(line []cell) []span {
	var all []span
	gap := 2 // columns since the last character
	for column, c := range line {
		if c.r == ' ' {
			gap++
			continue
		}
		if n := len(all); n > 0 && gap < 2 && all[n-1].style == c.style {
			all[n-1].text += strings.Repeat(" ", gap) + string(c.r)
		} else {
			all = append(all, span{column, string(c.r), c.style})
		}
		gap = 0
	}
	return all
}
