// Package term formats output for a terminal: numbers and durations for people, columns,
// tables, keys, and foreign text made safe to show.
package term

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

var numbers = [...]string{"none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"}

// Number returns n in words where that is short.
func Number(n int) string {
	if n >= 0 && n < len(numbers) {
		return numbers[n]
	}
	return strconv.Itoa(n)
}

// Count returns "1 master" or "3 masters".
func Count(n int, of string) string {
	if n == 1 {
		return "1 " + of
	}
	return strconv.Itoa(n) + " " + of + "s"
}

// Span returns a duration to two or three digits: 0.41 ms, 3.2 ms, 412 ms, 1.3 s.
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

// About returns a duration as people say it: 412 ms, 5 s, 2.7 s, 13 s, 20m0s, 3 days.
func About(d time.Duration) string {
	switch s := d.Seconds(); {
	case d < time.Second:
		return Span(d)
	case s < 9.95:
		return strconv.FormatFloat(math.Round(s*10)/10, 'f', -1, 64) + " s"
	case d >= 48*time.Hour:
		return Count(int(d.Hours()/24), "day")
	case s < 119.5:
		return fmt.Sprintf("%.0f s", s)
	default:
		return d.Round(time.Second).String()
	}
}

// Until returns a future instant by the wall clock, and how long that takes, both rounded up
// to seconds: 20:24:17 (in 61 s).
func Until(at time.Time, in time.Duration) string {
	format := time.TimeOnly
	if in >= 12*time.Hour {
		format = time.DateTime
	}
	return fmt.Sprintf("%s (in %s)", at.Add(time.Second-1).Local().Format(format), whole(math.Ceil(in.Seconds())))
}

// whole formats a number of seconds.
func whole(s float64) string {
	if s < 600 {
		return fmt.Sprintf("%.0f s", s)
	}
	return (time.Duration(s) * time.Second).String()
}

// Are returns "is" for one subject, "are" for several.
func Are(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// Does returns a verb for one subject, which "waits", or for several, which "wait".
func Does(n int, verb string) string {
	if n == 1 {
		return verb + "s"
	}
	return verb
}

// Percentile returns the smallest value that p percent of sorted do not exceed; 0 if there is none.
func Percentile(sorted []time.Duration, p int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	rank := (len(sorted)*p + 99) / 100
	return sorted[max(rank, 1)-1]
}
