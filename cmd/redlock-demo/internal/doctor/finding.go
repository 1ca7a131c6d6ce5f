package doctor

import (
	"cmp"
	"slices"
)

// A Severity says how bad a finding is.
type Severity int

// The severities.
const (
	Note    Severity = iota // worth knowing
	Warning                 // works, but will hurt some day
	Serious                 // locks cannot be had, or are not safe
)

func (s Severity) String() string { return [...]string{"note", "warning", "serious"}[s] }

// MarshalText is the severity in JSON.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads it.
func (s *Severity) UnmarshalText(text []byte) error {
	for _, known := range []Severity{Note, Warning, Serious} {
		if known.String() == string(text) {
			*s = known
		}
	}
	return nil
}

// A Finding is one thing that is not as it should be.
type Finding struct {
	Severity Severity `json:"severity"`
	Code     string   `json:"code"`    // for programs; does not change
	Masters  []string `json:"masters"` // that it is about; none: all together
	What     string   `json:"what"`
	Why      string   `json:"why"` // it matters
	Do       string   `json:"do"`
}

// findings collects them: what is the same on several masters becomes one.
type findings struct{ list []Finding }

func (l *findings) add(f Finding, masters ...string) {
	i := slices.IndexFunc(l.list, func(o Finding) bool {
		return o.Code == f.Code && o.Severity == f.Severity && o.What == f.What && o.Do == f.Do
	})
	if i < 0 || len(masters) == 0 {
		f.Masters = append([]string{}, masters...)
		l.list = append(l.list, f)
		return
	}
	l.list[i].Masters = append(l.list[i].Masters, masters...)
}

// sorted is all of them, the worst first.
func (l *findings) sorted() []Finding {
	slices.SortStableFunc(l.list, func(a, b Finding) int { return cmp.Compare(b.Severity, a.Severity) })
	if l.list == nil {
		return []Finding{}
	}
	return l.list
}

// Worst is the greatest severity; false: there are no findings.
func Worst(list []Finding) (worst Severity, found bool) {
	for _, f := range list {
		worst = max(worst, f.Severity)
	}
	return worst, len(list) > 0
}
