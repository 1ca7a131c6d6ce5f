package doctor

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/redquorum/redquorum/cmd/internal/explain"
	"github.com/redquorum/redquorum/cmd/internal/observe"
	"github.com/redquorum/redquorum/cmd/internal/term"
	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/guard"
)

// judgeMarkers adds what the markers mean for a new client. The client writes missing ones itself.
func judgeMarkers(l *findings, look *observe.Look, facts []Facts, fresh bool) {
	fleet, found := look.Fleet()
	if !found {
		fleet = look.Config
	}
	if fresh {
		l.add(Finding{
			Severity: Note, Code: "no-fleet", What: "the fleet is new: no guarded client has used these masters",
			Why: "The first one declares the fleet by itself, and locks at once. " +
				"If masters were in use before, they have lost all they kept.",
			Do: "Nothing, or redlock init, which declares it now.",
		})
	}
	settled := 0 // masters that vote, and were not adopted
	for i := range facts {
		if look.Standings[i].Vote && facts[i].GuardFacts.Marker.How != guard.HowAdopted {
			settled++
		}
	}
	for i := range facts {
		f := &facts[i]
		if f.Down != nil || !f.standalone() || f.GuardFacts.Info.RunID == "" { // INFO is denied: another finding
			continue
		}
		if f.GuardFacts.Info.Role == "slave" { // its marker is its master's; not-master is the finding
			continue
		}
		why := look.Config.JudgeMarker(f.GuardFacts, look.At)
		marker := f.GuardFacts.Marker
		adopted := marker.How == guard.HowAdopted && marker.Written()
		if adopted && settled >= look.Config.Masters/2+1 {
			l.add(Finding{
				Severity: Note, Code: "adopted",
				What: fmt.Sprintf("had no marker at %s, and was taken into a fleet that votes, by %s",
					marker.WithoutSince().UTC().Format(time.RFC3339), cmp.Or(marker.By, "a client")),
				Why: "It was new or had lost its data then. Or a list names a server that is none of the fleet's.",
				Do:  "Nothing, if it was replaced or restarted then. Otherwise compare the lists of masters.",
			}, f.Master)
		}
		switch {
		case why == nil, why.Cause == guard.OffClock, why.Cause == guard.Changed:
			// No fault, or judgeClock reports it, or the master is being checked again.
		case why.Cause == guard.Unmarked && f.Refuses != nil: // refuses-writes is the finding
		case why.Cause == guard.NoMarker && fresh:
		case why.Cause == guard.Unmarked:
			l.add(Finding{
				Severity: Warning, Code: "marker-unreadable",
				What: "does not show its marker: " + explain.Short(cmp.Or(why.Err, errUnasked)),
				Why:  "A guarded client cannot count its votes.",
				Do:   fmt.Sprintf(explain.Help(why), "it"),
			}, f.Master)
		default:
			judgeMarker(l, f, why, fleet, look.Config, look.At)
		}
	}
}

var errUnasked = errors.New("no answer")

// judgeMarker says what is wrong with one master's marker.
func judgeMarker(l *findings, f *Facts, why *guard.AbstainError, fleet, config guard.Config, now drift.Instant) {
	marker := f.GuardFacts.Marker
	quarantine := config.Quarantine()
	switch {
	case why.Cause == guard.NotOurs:
		l.add(Finding{
			Severity: Serious, Code: "no-hash",
			What: fmt.Sprintf("has a %s at %s, which is no marker", why.Value, guard.Key),
			Why:  "A guarded client does not count its votes, and writes nothing over what is not its own.",
			Do:   "Find out who wrote it, and rename or delete that key.",
		}, f.Master)
	case why.Cause == guard.OtherFleet && why.Aliases != nil: // those masters have the findings
	case why.Cause == guard.OtherFleet && marker.Matches(config):
		l.add(Finding{
			Severity: Serious, Code: "other-database",
			What: fmt.Sprintf("has the marker of database %s, here is %d", marker.DB, f.GuardFacts.DB),
			Why:  "Its databases were exchanged (SWAPDB), with the locks in them: it does not vote.",
			Do:   "Exchange them again, or name that database in the URL.",
		}, f.Master)
	case why.Cause == guard.OtherFleet && marker.Matches(fleet) && fleet.Masters == config.Masters:
		l.add(Finding{
			Severity: Serious, Code: "other-max-ttl",
			What: fmt.Sprintf("is of a fleet whose longest TTL is %v, --max-ttl says %v",
				fleet.MaxTTL, config.MaxTTL),
			Why: "Its quarantine would be too short or too long for the other clients: " +
				"it does not vote for those with this setting.",
			Do: "Give all clients the same --max-ttl (WithMaxTTL); " +
				"or redlock init --force, when no client is running.",
		}, f.Master)
	case why.Cause == guard.OtherFleet && marker.Matches(fleet):
		l.add(Finding{
			Severity: Serious, Code: "other-number",
			What: fmt.Sprintf("is of a fleet of %s, here are %d", term.Count(fleet.Masters, "master"), config.Masters),
			Why: "Clients with lists of different lengths could each have a quorum: " +
				"it does not vote for those of this list.",
			Do: "Name all masters of the fleet; or redlock init --force, when no client is running.",
		}, f.Master)
	case why.Cause == guard.OtherFleet:
		do := "Take the list of masters that belong together; or redlock init --force, when no client is running."
		if marker.Version != guard.Version {
			do = fmt.Sprintf(explain.Help(why), "it")
		}
		l.add(Finding{
			Severity: Serious, Code: "other-fleet",
			What: fmt.Sprintf("is of another fleet (%s) than the others (%v)",
				observe.Settings(marker.Fields), fleet),
			Why: "Clients with different settings could each have a quorum, so it votes for those of one setting only.",
			Do:  do,
		}, f.Master)
	case marker.Verdict == guard.Missing:
		seen := now.Wall().Add(-marker.Sighted - now.MonotonicSub(marker.Clock.Received))
		l.add(Finding{
			Severity: Warning, Code: "no-marker",
			What: "has no marker: it has lost its data, or is new, and has been seen so since " +
				seen.Format(time.TimeOnly),
			Why: fmt.Sprintf("A guarded client does not count its votes until %v after it was first seen so.",
				quarantine),
			Do: "Nothing, if that is known: wait. Otherwise find out why it lost its data.",
		}, f.Master)
	case marker.Verdict == guard.Restarted, marker.Verdict == guard.Reset:
		what := "was restarted since a guarded client last saw it"
		switch {
		case marker.Verdict == guard.Reset:
			what = "had its clock set back since a guarded client last saw it"
		case marker.How == guard.HowEvicted:
			what = "has evicted keys since a guarded client last saw it"
		case marker.How == guard.HowResynced:
			what = "has another history of its data than a guarded client last saw: " +
				"it was resynchronised from another server, " +
				"its first replica was attached, or its backlog was freed"
		}
		l.add(Finding{
			Severity: Warning, Code: "restarted", What: what,
			Why: fmt.Sprintf("It does not vote until %v after the next one sees it. "+
				"Nothing else begins that quarantine.", quarantine),
			Do: "Run a client, redlock exec for one.",
		}, f.Master)
	default:
		l.add(Finding{
			Severity: Warning, Code: "quarantine", What: explain.Short(why),
			Why: "Locks that it granted before may still be held.",
			Do:  "Wait.",
		}, f.Master)
	}
}
