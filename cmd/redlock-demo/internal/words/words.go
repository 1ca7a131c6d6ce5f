// Package words puts numbers and durations as people read them.
package words

import (
	"fmt"
	"strconv"
	"time"
)

var numbers = [...]string{"none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"}

// Number is n in words where that is short.
func Number(n int) string {
	if n >= 0 && n < len(numbers) {
		return numbers[n]
	}
	return strconv.Itoa(n)
}

// Count is "1 master" or "3 masters".
func Count(n int, of string) string {
	if n == 1 {
		return "1 " + of
	}
	return strconv.Itoa(n) + " " + of + "s"
}

// Span is a duration to two or three digits: 0.41 ms, 3.2 ms, 412 ms, 1.3 s.
func Span(d time.Duration) string {
	ms := float64(d) / float64(time.Millisecond)
	switch {
	case d <= 0:
		return "–"
	case ms < 1:
		return fmt.Sprintf("%.2f ms", ms)
	case ms < 9.95:
		return fmt.Sprintf("%.1f ms", ms)
	case ms < 999.5:
		return fmt.Sprintf("%.0f ms", ms)
	default:
		return fmt.Sprintf("%.1f s", ms/1000)
	}
}
