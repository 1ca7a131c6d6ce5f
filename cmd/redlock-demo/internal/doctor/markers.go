package doctor

import (
	"cmp"
	"fmt"
	"time"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/words"
	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/guard"
)

// judgeMarkers judges what the masters say of their fleet as the guard of a
// client of that fleet does. It asks nobody to write a marker: the first guarded
// client does.
func judgeMarkers(l *findings, facts []Facts, fleet guard.Config, found bool, config guard.Config, now drift.Instant) {
	for i := range facts {
		if f := &facts[i]; f.Down == nil && f.standalone() && f.MarkerErr != nil {
			l.add(Finding{
				Severity: Warning, Code: "marker-unreadable", What: "does not show its marker: " + plain(f.MarkerErr),
				Why: "A guarded client cannot count its votes.",
				Do:  f.setUser("+hmget", "~"+guard.Key) + ", and what docs/explanation/guard.md lists.",
			}, f.Master)
		}
	}
	unmarked := without(facts)
	if !found && unmarked == len(facts) {
		l.add(Finding{
			Severity: Note, Code: "no-fleet", What: "the masters carry no marker: no guarded client has used them",
			Why: "A guard sees masters that have forgotten locks. The first guarded client declares the fleet by itself.",
			Do:  "redlock-demo init declares it now.",
		})
	}
	for i := range facts {
		f := &facts[i]
		if f.Down != nil || !f.standalone() || f.MarkerErr != nil || f.Marker == nil && unmarked == len(facts) {
			continue
		}
		judgeMarker(l, f, fleet, config, now)
	}
}

// fleetOf is the fleet that most masters name, the first of those in doubt; false:
// none names one.
func fleetOf(facts []Facts, client Client) (fleet guard.Config, found bool) {
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
		fleet = guard.Config{Level: guard.Standard, MaxTTL: cmp.Or(client.MaxTTL, time.Minute), Masters: len(facts), Drift: drift.Default} // a client's defaults
	}
	return fleet, found
}

// without is how many masters carry no marker.
func without(facts []Facts) (n int) {
	for i := range facts {
		if f := &facts[i]; f.Down == nil && f.standalone() && f.MarkerErr == nil && f.Marker == nil {
			n++
		}
	}
	return n
}

// judgeMarker says what the guard has against one master's marker.
func judgeMarker(l *findings, f *Facts, fleet, config guard.Config, now drift.Instant) {
	var stored guard.Stored
	if f.Marker != nil {
		stored = *f.Marker
	}
	look := f.look(config)
	at := now
	if f.Clock.Time.IsZero() {
		at = f.Clock.Received // nothing is known of its age
	}
	why := config.JudgeMarker(guard.Facts{Master: f.Master, DB: f.DB, Connected: true, Info: guard.Info{RunID: cmp.Or(f.Info["run_id"], look.Run)}, Marker: look}, at)
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
	case why.Cause == guard.OtherFleet && stored.Matches(config):
		l.add(Finding{
			Severity: Serious, Code: "other-database", What: fmt.Sprintf("has the marker of database %s, here is %d", stored.DB, f.DB),
			Why: "Its databases were exchanged (SWAPDB), with the locks in them: it does not vote.",
			Do:  "Exchange them again, or name that database in the URL.",
		}, f.Master)
	case why.Cause == guard.OtherFleet && stored.Matches(fleet) && fleet.Masters == config.Masters:
		l.add(Finding{
			Severity: Serious, Code: "other-max-ttl", What: fmt.Sprintf("is of a fleet whose longest TTL is %v, --max-ttl says %v", fleet.MaxTTL, config.MaxTTL),
			Why: "Its quarantine would be too short or too long for the other clients: it does not vote for those with this setting.",
			Do:  "Give all clients the same --max-ttl (WithMaxTTL); or redlock-demo init --force, when no client is running.",
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
		judgeUnmarked(l, f, quarantine, now)
	case look.Verdict == guard.Restarted:
		what := "was restarted since a guarded client last saw it"
		if look.How == guard.HowResynced {
			what = "has another history of its data than a guarded client last saw: it was resynchronised from another server, its first replica was attached, or its backlog was freed"
		}
		l.add(Finding{
			Severity: Warning, Code: "restarted", What: what,
			Why: fmt.Sprintf("It does not vote until %v after the next one sees it. Nothing else begins that quarantine.", quarantine),
			Do:  "Run a client, redlock-demo exec for one.",
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

// judgeUnmarked tells of a master without a marker since when that is known.
func judgeUnmarked(l *findings, f *Facts, quarantine time.Duration, now drift.Instant) {
	finding := Finding{
		Severity: Warning, Code: "no-marker", What: "has no marker: it has lost its data, or is new",
		Why: fmt.Sprintf("A guarded client does not count its votes until %v after it was first seen so.", quarantine),
		Do:  "Nothing, if that is known: wait. Otherwise find out why it lost its data.",
	}
	if s := f.Sighting; s != nil {
		known := s.Sighted + now.MonotonicSub(s.Clock.Received)
		finding.What += ", and has been seen so since " + now.Wall().Add(-known).Format(time.TimeOnly)
	}
	l.add(finding, f.Master)
}

// standalone reports whether it is a master, as far as it says.
func (f *Facts) standalone() bool {
	return f.Info["redis_mode"] == "" || f.Info["redis_mode"] == "standalone"
}
