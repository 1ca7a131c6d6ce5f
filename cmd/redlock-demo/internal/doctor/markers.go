package doctor

import (
	"fmt"
	"time"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/words"
	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/guard"
)

// judgeMarkers judges what the masters say of their fleet as the guard of a
// client of that fleet does. It asks nobody to write a marker: the first guarded
// client does.
func judgeMarkers(l *findings, facts []Facts, clientSkew time.Duration) {
	for i := range facts {
		if f := &facts[i]; f.Down == nil && f.MarkerErr != nil {
			l.add(Finding{
				Severity: Warning, Code: "marker-unreadable", What: "does not show its marker: " + plain(f.MarkerErr),
				Why: "A guarded client cannot count its votes.",
				Do:  f.setUser("+hmget", "~"+guard.Key) + ", and what docs/guard.md lists.",
			}, f.Master)
		}
	}
	fleet, found := fleetOf(facts)
	if !found && without(facts) == len(facts) {
		l.add(Finding{
			Severity: Note, Code: "no-fleet", What: "the masters carry no marker: no guarded client has used them",
			Why: "A guard sees masters that have forgotten locks. The first guarded client declares the fleet by itself.",
			Do:  "redlock-demo init declares it now.",
		})
	}
	// The clients that this is about have the list that was given here.
	config := fleet
	config.Masters, config.ClientSkew = len(facts), clientSkew
	for i := range facts {
		f := &facts[i]
		if f.Down != nil || f.MarkerErr != nil || f.Marker == nil && !found {
			continue
		}
		judgeMarker(l, f, fleet, config)
	}
}

// fleetOf is the fleet that most masters name, the first of those in doubt; false:
// none names one.
func fleetOf(facts []Facts) (fleet guard.Config, found bool) {
	votes := map[guard.Config]int{}
	for i := range facts {
		if c, ok := facts[i].fleet(); ok {
			votes[c]++
		}
	}
	for i := range facts {
		if c, ok := facts[i].fleet(); ok && votes[c] > votes[fleet] {
			fleet, found = c, true
		}
	}
	if !found {
		fleet = guard.Config{Level: guard.Standard, MaxTTL: time.Minute, Masters: len(facts), Drift: drift.Default} // a client's defaults
	}
	return fleet, found
}

// without is how many masters carry no marker.
func without(facts []Facts) (n int) {
	for i := range facts {
		if f := &facts[i]; f.Down == nil && f.MarkerErr == nil && f.Marker == nil {
			n++
		}
	}
	return n
}

// judgeMarker says what the guard has against one master's marker.
func judgeMarker(l *findings, f *Facts, fleet, config guard.Config) {
	var stored guard.Stored
	if f.Marker != nil {
		stored = *f.Marker
	}
	run := f.Info["run_id"]
	if run == "" {
		run = stored.Run // nothing is known of a restart: INFO is a finding of its own
	}
	look := config.Look(stored, run, f.Info["master_replid"], f.Clock)
	why := config.JudgeMarker(guard.Facts{Master: f.Master, Connected: true, Info: guard.Info{RunID: run}, Marker: look}, f.Clock.Received)
	if why == nil || why.Cause == guard.OffClock { // which judgeClock tells
		return
	}
	quarantine := config.Quarantine()
	switch {
	case why.Cause == guard.NotOurs:
		l.add(Finding{
			Severity: Serious, Code: "no-hash", What: fmt.Sprintf("has a %s at %s, which is no marker", why.Value, guard.Key),
			Why: "A guarded client does not count its votes, and writes nothing over what is not its own.",
			Do:  "Find out who wrote it, and rename or delete that key.",
		}, f.Master)
	case why.Cause == guard.OtherFleet && stored.Matches(fleet):
		l.add(Finding{
			Severity: Serious, Code: "other-number", What: fmt.Sprintf("is of a fleet of %s, here are %d", words.Count(fleet.Masters, "master"), config.Masters),
			Why: "Clients with lists of different lengths could each have a quorum: it does not vote for those of this list.",
			Do:  "Name all masters of the fleet; or redlock-demo init --force, when no client is running.",
		}, f.Master)
	case why.Cause == guard.OtherFleet:
		l.add(Finding{
			Severity: Serious, Code: "other-fleet", What: fmt.Sprintf("is of another fleet (%v) than the others (%v)", stored, fleet),
			Why: "Clients with different settings could each have a quorum, so it votes for those of one setting only.",
			Do:  "Take the list of masters that belong together; or redlock-demo init --force, when no client is running.",
		}, f.Master)
	case look.Verdict == guard.Missing || look.Verdict == guard.Created:
		l.add(Finding{
			Severity: Warning, Code: "no-marker", What: "has no marker, others have: it has lost its data, or is new",
			Why: fmt.Sprintf("A guarded client does not count its votes until %v after it was first seen so.", quarantine),
			Do:  "Nothing, if that is known: wait. Otherwise find out why it lost its data.",
		}, f.Master)
	case look.Verdict == guard.Restarted:
		l.add(Finding{
			Severity: Warning, Code: "restarted", What: "was restarted since a guarded client last saw it",
			Why: fmt.Sprintf("It does not vote until %v after the next one sees it.", quarantine),
			Do:  "Wait.",
		}, f.Master)
	case f.Clock.Time.IsZero(): // TIME is denied, which is a finding: since when it remembers is not known
	default:
		l.add(Finding{
			Severity: Warning, Code: "quarantine", What: fmt.Sprintf("may have forgotten locks: it does not vote for another %v", why.Left.Round(100*time.Millisecond)),
			Why: "It was restarted or emptied, or its clock was set back, and locks that it granted before may still be held.",
			Do:  "Wait.",
		}, f.Master)
	}
}
