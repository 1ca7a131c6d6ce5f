package term

import "github.com/mattn/go-runewidth"

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
