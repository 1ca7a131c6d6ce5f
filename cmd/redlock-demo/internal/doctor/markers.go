package doctor

import (
	"fmt"
	"time"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/ask"
	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/words"
	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/guard"
)

// judgeMarkers compares what the masters say of their fleet. It asks nobody to
// write a marker: the first guarded client does.
func judgeMarkers(l *findings, facts []Facts) {
	var first *Facts // that has a marker
	without := 0
	for i := range facts {
		f := &facts[i]
		switch {
		case f.Down != nil:
		case f.MarkerErr != nil:
			l.add(Finding{
				Severity: Warning, Code: "marker-unreadable", What: "does not show its marker: " + plain(f.MarkerErr),
				Why: "A guarded client cannot count its votes.",
				Do:  f.setUser("+hmget", "~"+guard.Key) + ", and what docs/guard.md lists; a key of another type at " + guard.Key + " has to go.",
			}, f.Master)
		case f.Marker == nil:
			without++
		case first == nil:
			first = f
		}
	}
	if first == nil {
		if without == len(facts) {
			l.add(Finding{
				Severity: Note, Code: "no-fleet", What: "the masters carry no marker: no guarded client has used them",
				Why: "A guard sees masters that have forgotten locks. The first guarded client declares the fleet by itself.",
				Do:  "redlock-demo init declares it now.",
			})
		}
		return
	}
	for i := range facts {
		if f := &facts[i]; f.Down == nil && f.MarkerErr == nil {
			judgeMarker(l, f, first, len(facts))
		}
	}
}

// judgeMarker looks at one master's marker, beside the first one.
func judgeMarker(l *findings, f, first *Facts, masters int) {
	m := f.Marker
	quarantine := quarantineOf(first.Marker)
	switch {
	case m == nil:
		l.add(Finding{
			Severity: Warning, Code: "no-marker", What: "has no marker, others have: it has lost its data, or is new",
			Why: fmt.Sprintf("A guarded client does not count its votes until %v after it was first seen so.", quarantine),
			Do:  "Nothing, if that is known: wait. Otherwise find out why it lost its data.",
		}, f.Master)
	case !m.SameFleet(first.Marker):
		l.add(Finding{
			Severity: Serious, Code: "other-fleet", What: fmt.Sprintf("is of another fleet (%s) than %s (%s)", m, first.Master, first.Marker),
			Why: "Clients with different settings could each have a quorum, so it votes for those of one setting only.",
			Do:  "Take the list of masters that belong together; or redlock-demo init --force, when no client is running.",
		}, f.Master)
	case m.Masters != masters:
		l.add(Finding{
			Severity: Serious, Code: "other-number", What: fmt.Sprintf("is of a fleet of %s, here are %d", words.Count(m.Masters, "master"), masters),
			Why: "Clients with lists of different lengths could each have a quorum: it does not vote for those of this list.",
			Do:  "Name all masters of the fleet; or redlock-demo init --force, when no client is running.",
		}, f.Master)
	case f.Info["run_id"] != "" && m.Run != f.Info["run_id"]:
		l.add(Finding{
			Severity: Warning, Code: "restarted", What: "was restarted since a guarded client last saw it",
			Why: fmt.Sprintf("It does not vote until %v after the next one sees it.", quarantine),
			Do:  "Wait.",
		}, f.Master)
	case m.Since > 0 && !f.Now.IsZero():
		if left := quarantine - f.Now.Sub(time.UnixMilli(m.Since)); left > 0 {
			l.add(Finding{
				Severity: Warning, Code: "quarantine", What: fmt.Sprintf("may have forgotten locks: it does not vote for another %v", left.Round(100*time.Millisecond)),
				Why: "It was restarted or emptied, and locks that it granted before may still be held.",
				Do:  "Wait.",
			}, f.Master)
		}
	}
}

// quarantineOf is for how long a master of the fleet abstains.
func quarantineOf(m *ask.Marker) time.Duration {
	level := guard.Standard
	if m.Level == guard.Strict.String() {
		level = guard.Strict
	}
	return guard.Config{Level: level, MaxTTL: m.MaxTTL, Masters: m.Masters, Drift: drift.Default}.Quarantine()
}
