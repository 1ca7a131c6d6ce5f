package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/redquorum/redquorum/cmd/internal/observe"
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

// MarshalText returns the severity as it is in JSON.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// A Finding is one thing that is not as it should be.
type Finding struct {
	Severity Severity `json:"severity"`
	Code     string   `json:"code"`    // for programs; does not change
	Masters  []string `json:"masters"` // those that it is about; none: all together
	What     string   `json:"what"`
	Why      string   `json:"why"` // why it matters
	Do       string   `json:"do"`
}

// findings collects findings, and merges those that are the same on several masters.
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

// raise is called while no lock can be taken. It makes the findings serious that keep masters
// from voting. If no finding is serious then, it adds one for each master that does not vote.
func (l *findings) raise(v *observe.Verdict, facts []Facts) {
	keep := []string{"unreachable", "no-marker", "restarted", "quarantine", "marker-unreadable", "info-denied"}
	for i := range l.list {
		f := &l.list[i]
		if !slices.Contains(keep, f.Code) {
			continue
		}
		for k := range facts {
			if votes, _ := v.On(k); !votes && slices.Contains(f.Masters, facts[k].Master) {
				f.Severity = Serious
			}
		}
	}
	if worst, _ := Worst(l.list); worst == Serious {
		return
	}
	for k := range facts {
		if votes, why := v.On(k); !votes {
			l.add(Finding{
				Severity: Serious, Code: "does-not-vote", What: "does not vote: " + why,
				Why: fmt.Sprintf("With %d of %d nothing can be locked: %d are needed.", v.Votes, len(facts), v.Quorum),
				Do:  cmp.Or(strings.Join(v.Help, " "), "Wait."),
			}, facts[k].Master)
		}
	}
}

// sorted returns all findings, the worst first.
func (l *findings) sorted() []Finding {
	slices.SortStableFunc(l.list, func(a, b Finding) int { return cmp.Compare(b.Severity, a.Severity) })
	if l.list == nil {
		return []Finding{}
	}
	return l.list
}

// Worst returns the greatest severity; false: there are no findings.
func Worst(list []Finding) (worst Severity, found bool) {
	for _, f := range list {
		worst = max(worst, f.Severity)
	}
	return worst, len(list) > 0
}
