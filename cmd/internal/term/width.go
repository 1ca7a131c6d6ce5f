package term

import (
	"strings"

	"github.com/mattn/go-runewidth"
)

// measure counts columns as terminals do that are set up for no East Asian language: CJK and emoji take two.
var measure = &runewidth.Condition{StrictEmojiNeutral: true}

// Width is how many columns text takes.
func Width(text string) int { return measure.StringWidth(text) }

// Shortened is text in so many columns, with an ellipsis where something was cut off.
func Shortened(text string, most int) string {
	if most < 1 {
		return ""
	}
	return measure.Truncate(text, most, "…")
}

// ShortenedToWords is text in so many columns that breaks no word, unless already the first one is too long.
func ShortenedToWords(text string, most int) string {
	short := Shortened(text, most)
	whole, cut := strings.CutSuffix(short, "…")
	if short == text || !cut || text[len(whole)] == ' ' {
		return short
	}
	if i := strings.LastIndexByte(whole, ' '); i > 0 {
		return whole[:i] + "…"
	}
	return short
}
