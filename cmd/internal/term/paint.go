package term

import "strings"

// Paint says whether text may be coloured, in the sixteen colours of the terminal's theme.
type Paint bool

// Bold, Dim, Red, Green and Yellow return text painted like this.
func (p Paint) Bold(text string) string   { return p.sgr("1", text) }
func (p Paint) Dim(text string) string    { return p.sgr("2", text) }
func (p Paint) Red(text string) string    { return p.sgr("31", text) }
func (p Paint) Green(text string) string  { return p.sgr("32", text) }
func (p Paint) Yellow(text string) string { return p.sgr("33", text) }

// Mark returns ✓ or ✗.
func (p Paint) Mark(ok bool) string {
	if ok {
		return p.Green("✓")
	}
	return p.Red("✗")
}

func (p Paint) sgr(code, text string) string {
	if !p || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Padded fills text up with spaces.
func Padded(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-Width(text)))
}
