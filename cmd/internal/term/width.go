package term

import "github.com/mattn/go-runewidth"

// measure counts columns like a terminal without East Asian settings: CJK and emoji take two.
var measure = &runewidth.Condition{StrictEmojiNeutral: true}

// Width returns how many columns text takes.
func Width(text string) int { return measure.StringWidth(text) }

// Shortened returns text in at most so many columns, with an ellipsis where something was cut off.
func Shortened(text string, most int) string {
	if most < 1 {
		return ""
	}
	return measure.Truncate(text, most, "…")
}
