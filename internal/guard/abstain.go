package guard

import (
	"fmt"
	"strings"
	"time"

	"github.com/redquorum/redquorum/drift"
)

// A Cause is why a master may not vote, in a word or two. It is a text, so that redlock's error has the same fields.
type Cause = string

// The causes, in order of precedence, except that NotStandalone follows NotConnected, and Forbidden
// follows Unreadable.
const (
	NotConnected  Cause = "not connected"
	NotMaster     Cause = "not a master"               // a replica
	MayEvict      Cause = "may evict"                  // maxmemory-policy is not noeviction
	Duplicate     Cause = "duplicate"                  // the same server as another address, which has the vote
	Unreadable    Cause = "INFO unreadable"            // strict: INFO does not say what has to be known
	Unmarked      Cause = "no answer about the marker" // the marker's script has not answered
	OffClock      Cause = "clock off"                  // strict: its clock differs too much from ours
	NotOurs       Cause = "marker is another's"        // the marker's key holds something else
	OtherFleet    Cause = "other configuration"        // the marker is of a fleet with another configuration
	NoMarker      Cause = "no marker"                  // there is none; whether the fleet is new is not decided yet
	Changed       Cause = "marker changed"             // while the connection was up
	Quarantined   Cause = "quarantined"                // it may have forgotten locks
	NotStandalone Cause = "not standalone"             // a member of a Redis Cluster, or a Sentinel
	Forbidden     Cause = "command forbidden"          // the user may not run a command that locks need
)

// An AbstainError says why a master may not vote: on one line, with the value, what to do, and
// until when if that is known. It matches what Err matches, and nothing else.
type AbstainError struct {
	Cause Cause
	Value string // what the master says; texts of its own are quoted and cut
	Want  string // what it should say
	// With Duplicate, Aliases are the other addresses of the same server, sorted. With OtherFleet
	// they are the masters that name the other fleet, if this one does not.
	Aliases []string
	// With Quarantined, Left is how long it still may not vote, and Until is the end by our wall
	// clock, for people. With NoMarker, unless Left is 0, they say when it gets a marker of this
	// client's settings.
	Left  time.Duration
	Until time.Time
	// With Quarantined, How is what made it forget, or seem to: restarted, resynced, evicted,
	// adopted, emptied, restored, reset or forced; "" if its marker does not say. With NoMarker it
	// is emptied or "". docs/project/protocol.md explains each.
	How string
	// With OffClock, By is by how much its clock is ahead of ours, 0 if that is not known, and Ours
	// says that most masters differ from us in the same direction.
	By   drift.Span
	Ours bool
	Err  error // what went wrong, if something did
}

// Passes reports whether time alone, or another look by this client, may end it. With all other
// causes somebody must do something, which the text names.
func (r *AbstainError) Passes() bool {
	switch r.Cause {
	case NotConnected, Unmarked, NoMarker, Changed, Quarantined:
		return true
	default:
		return false
	}
}

// Unwrap gives Err.
func (r *AbstainError) Unwrap() error { return r.Err }

func (r *AbstainError) Error() string {
	switch r.Cause {
	case NotConnected:
		return "not connected" + r.because()
	case NotMaster:
		return fmt.Sprintf("its role is %s, want master: take it off the list, or list its master instead", r.Value)
	case MayEvict:
		return fmt.Sprintf("its maxmemory-policy is %s, which may evict locks, want noeviction: "+
			"set it with CONFIG SET and in its configuration file", r.Value)
	case Duplicate:
		return fmt.Sprintf("it is the same server as %s (run_id %s), "+
			"and only the first address votes: list every server once", strings.Join(r.Aliases, ", "), r.Value)
	case Unreadable:
		return fmt.Sprintf("INFO cannot be read%s: "+
			"grant +info, since level strict refuses masters that it cannot identify", r.because())
	case Unmarked:
		if r.Err != nil && strings.Contains(r.Err.Error(), "NOPERM") {
			return "its marker cannot be read" + r.because() +
				"; permit the commands and keys of docs/reference/wire.md#permissions"
		}
		return "it is still being checked" + r.because()
	case OffClock:
		if r.Ours {
			return fmt.Sprintf("%s, at most %s is accepted, and most masters differ in the same way: "+
				"correct this machine's clock", ahead(r.By), r.Want)
		}
		return fmt.Sprintf("%s, at most %s is accepted: correct the master's clock, then it votes again",
			ahead(r.By), r.Want)
	case NotOurs:
		return fmt.Sprintf("its key %s is a %s, want a hash: "+
			"somebody else uses the reserved name; rename or delete that key", Key, r.Value)
	case OtherFleet:
		if len(r.Aliases) > 0 {
			return fmt.Sprintf("the markers of %s say %s, this client says %s: "+
				"clients with those settings may lock without this master: %s",
				strings.Join(r.Aliases, ", "), r.Value, r.Want, sameForAll)
		}
		return fmt.Sprintf("its marker says %s, this client says %s: %s", r.Value, r.Want, sameForAll)
	case NoMarker:
		if r.Left > 0 {
			return fmt.Sprintf("%s, and this client has not seen one of its settings there: "+
				"clients that have give it another, or this one does at %s (in %v)",
				r.forgot(), r.Until.Add(time.Second-1).UTC().Format(time.RFC3339), r.Left.Round(time.Millisecond))
		}
		if r.How == HowEmptied {
			return r.forgot() +
				": it gets another when all masters have answered or failed, and votes after a quarantine"
		}
		return "it has no marker, so it is new or has lost its data: it gets a marker when " +
			"all masters have answered or failed, and votes after a quarantine; " + ifNew
	case Changed:
		return fmt.Sprintf("its data was lost or replaced (%s): it is being checked again", r.Value)
	case Quarantined:
		return fmt.Sprintf("%s: it votes at %s (in %v)%s", r.forgot(),
			r.Until.Add(time.Second-1).UTC().Format(time.RFC3339), max(r.Left, 0).Round(time.Millisecond), r.remedy())
	case NotStandalone:
		return notStandalone(r.Value)
	case Forbidden:
		return r.forbidden()
	default:
		return r.Cause
	}
}

// sameForAll says what to do about other settings. The remedy that makes everybody wait is last.
const sameForAll = "give all programs that lock the same keys the same settings and database, " +
	"and unrelated ones another database; redlock init --force changes the fleet"

// ifNew is what an operator can do about masters that seem to have lost their data.
const ifNew = "if the whole fleet is new, declare it: redlock init, or Client.Init"

// forgot says why it may have forgotten locks.
func (r *AbstainError) forgot() string {
	switch r.How {
	case HowRestarted:
		return "it was restarted"
	case HowResynced:
		return "its data has another history: " +
			"it was resynchronised from another server, or its first replica was attached"
	case HowEvicted:
		return "it has evicted keys"
	case HowAdopted:
		return "it was found without a marker, so it was new or had lost its data"
	case HowEmptied:
		return "it has lost its data: its marker was gone"
	case HowRestored:
		return "its data was lost, and a marker of before was put back: restore backups into masters that are stopped"
	case HowReset:
		return "its clock was set back"
	case HowForced:
		return "an operator has changed the fleet"
	default:
		return "it may have forgotten locks"
	}
}

// remedy says what ends the quarantine sooner, if anything does.
func (r *AbstainError) remedy() string {
	if r.How == HowAdopted {
		return "; " + ifNew
	}
	return ""
}

// notStandalone says what a server in another mode is, and what to do about it.
func notStandalone(mode string) string {
	switch mode {
	case "cluster":
		return "it is a member of a Redis Cluster, want independent masters (docs/reference/servers.md): " +
			"the cluster moves keys between its members and replaces them by replicas"
	case "sentinel":
		return "it is a Sentinel, which keeps no keys: list the master that it watches (docs/reference/servers.md)"
	default:
		return fmt.Sprintf("it runs in mode %s, want standalone (docs/reference/servers.md)", mode)
	}
}

func (r *AbstainError) because() string {
	if r.Err == nil {
		return ""
	}
	return ": " + oneLine(r.Err.Error())
}

// ahead says by how much a clock is off, and which way.
func ahead(by drift.Span) string {
	switch {
	case by == drift.Span{}:
		return "its clock is off ours"
	case by.Middle() < 0:
		return fmt.Sprintf("its clock is %v behind ours", drift.Span{Low: -by.High, High: -by.Low})
	default:
		return fmt.Sprintf("its clock is %v ahead of ours", by)
	}
}

// oneLine keeps what a server or a dialer said on one line, without a full stop at its
// end: our sentence goes on.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.TrimSuffix(s, "."))
}
