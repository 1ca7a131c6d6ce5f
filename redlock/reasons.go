package redlock

import (
	"regexp"
	"slices"
	"strings"
	"time"
)

// A reason is shared by some masters that did not agree.
type reason struct {
	masters []string
	text    string
}

// joinNodes puts the errors of all masters on one line, and names masters with the same reason
// together. It leaves out masters that were not awaited, which QuorumError counts.
func joinNodes(errs []error) string {
	var reasons []reason
	for _, err := range errs {
		n, ok := err.(*NodeError) //nolint:errorlint // they are never wrapped
		switch {
		case !ok:
			reasons = append(reasons, reason{text: err.Error()})
			continue
		case n.Err == ErrNotAwaited: //nolint:errorlint // as above
			continue
		}
		text := strings.TrimSuffix(n.Err.Error(), ".") // Redis ends some errors with a period
		i := slices.IndexFunc(reasons, func(r reason) bool { return sameReason(r.text, text) })
		if i < 0 {
			reasons = append(reasons, reason{[]string{n.name()}, text})
			continue
		}
		reasons[i].masters = append(reasons[i].masters, n.name())
		reasons[i].text = withoutAddress(reasons[i].text)
	}
	texts := make([]string, len(reasons))
	for i, r := range reasons {
		texts[i] = r.text
		if r.masters != nil {
			texts[i] = strings.Join(r.masters, ", ") + ": " + r.text
		}
	}
	return strings.Join(texts, "; ")
}

var (
	dialed = regexp.MustCompile(`(dial \w+) \S+: `)
	times  = regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:]{8}Z|\b(\d+(\.\d+)?(h|ms|m|µs|s|ns))+\b`)
)

// withoutAddress takes out the address in the error of a dial.
func withoutAddress(text string) string { return dialed.ReplaceAllString(text, "$1: ") }

// sameReason reports whether two texts differ only by a dialed address, or by times that are close.
func sameReason(a, b string) bool {
	a, b = withoutAddress(a), withoutAddress(b)
	if a == b {
		return true
	}
	if times.ReplaceAllString(a, "") != times.ReplaceAllString(b, "") {
		return false
	}
	as, bs := times.FindAllString(a, -1), times.FindAllString(b, -1)
	return slices.EqualFunc(as, bs, areClose)
}

// areClose reports whether two durations differ by at most a tenth of a second, or two points in
// time, which are given in whole seconds, by at most one.
func areClose(a, b string) bool {
	x, errX := time.ParseDuration(a)
	y, errY := time.ParseDuration(b)
	if errX == nil && errY == nil {
		return (x - y).Abs() <= 100*time.Millisecond
	}
	at, errA := time.Parse(time.RFC3339, a)
	bt, errB := time.Parse(time.RFC3339, b)
	return errA == nil && errB == nil && at.Sub(bt).Abs() <= time.Second
}
