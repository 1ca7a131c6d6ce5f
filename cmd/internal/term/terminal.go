package term

import (
	"os"

	"golang.org/x/term"
)

// ColumnsOf returns the width of a terminal; 80: it is not known.
func ColumnsOf(f *os.File) int {
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width <= 0 {
		return 80
	}
	return width
}

func IsTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }
