package term

import "strings"

// Wrap puts text after a lead that takes indent columns. What does not fit into width columns
// goes on lines below, indented as much.
func Wrap(lead string, indent, width int, text string) string {
	var b strings.Builder
	b.WriteString(lead)
	used := indent
	for i, word := range strings.Fields(text) {
		n := Width(word)
		switch {
		case i == 0:
		case used+1+n > width:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			used = indent
		default:
			b.WriteByte(' ')
			used++
		}
		b.WriteString(word)
		used += n
	}
	return b.String()
}
