package guard

import (
	"fmt"
	"strings"
	"time"

	"github.com/redquorum/redquorum/drift"
)

// A Cause is why a master may not vote.
type Cause uint8

// The causes. Of those that apply the first is told, but that NotStandalone comes
// behind NotConnected, and Forbidden behind Unreadable.
const (
	NotConnected  Cause = iota + 1
	NotMaster           // a replica
	MayEvict            // maxmemory-policy is not noeviction
	Duplicate           // the same server as another address, which has the vote
	Unreadable          // strict: INFO does not say what has to be known
	Unmarked            // the marker's script has not answered
	OffClock            // strict: its clock is off ours
	NotOurs             // what is at the marker's name is no marker
	OtherFleet          // the marker is of a fleet with another configuration
	NoMarker            // there is none, and it has not been decided whether the fleet is new
	Changed             // the marker changed on the living connection
	Quarantined         // it may have forgotten locks
	NotStandalone       // a member of a Redis Cluster, or a Sentinel
	Moved               // the fleet is being moved, and this client does not take part
	Forbidden           // the user may not run a command that locks need
)

// String is the cause in a word or two.
func (c Cause) String() string {
	names := [...]string{
		NotConnected: "not connected", NotMaster: "not a master", MayEvict: "may evict", Duplicate: "duplicate",
		Unreadable: "INFO unreadable", Unmarked: "no answer about the marker", OffClock: "clock off", NotOurs: "marker is another's",
		OtherFleet: "other configuration", NoMarker: "no marker", Changed: "marker changed", Quarantined: "quarantined",
		NotStandalone: "not standalone", Moved: "fleet is being moved", Forbidden: "command forbidden",
	}
	if int(c) >= len(names) || names[c] == "" {
		return fmt.Sprintf("Cause(%d)", uint8(c))
	}
	return names[c]
}

// Passes reports whether time alone, or a further look by this client, may end
// it. The others need somebody to do something, which the text names.
func (c Cause) Passes() bool {
	switch c {
	case NotConnected, Unmarked, NoMarker, Changed, Quarantined:
		return true
	default:
		return false
	}
}

// An AbstainError says why a master may not vote: on one line, with the value,
// what to do, and until when, where that is known. It matches what Err does and
// nothing else.
type AbstainError struct {
	Cause Cause
	Value string   // what the master says; texts of its own are quoted and cut
	Want  string   // what it should say
	Twins []string // the other addresses of the same server, sorted; with Duplicate
	// Left is how long it still may not vote, and Until the same for people,
	// by our wall clock; with Quarantined alone.
	Left  time.Duration
	Until time.Time
	// How is what made it forget, or seem to: restarted, resynced, adopted, created,
	// emptied, restored, reset, forced or revoked, "" where its marker does not tell; with
	// Quarantined; with NoMarker emptied, or "". docs/project/protocol.md says what each means.
	How string
	// By is by how much its clock is ahead of ours, and Ours says that most
	// masters disagree with us in the same way; with OffClock.
	By   drift.Span
	Ours bool
	Err  error // what went wrong, where something did
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
		return fmt.Sprintf("its maxmemory-policy is %s, which may evict locks, want noeviction: set it with CONFIG SET and in its configuration file, then reconnect", r.Value)
	case Duplicate:
		return fmt.Sprintf("it is the same server as %s (run_id %s), and only the first address votes: list every server once", strings.Join(r.Twins, ", "), r.Value)
	case Unreadable:
		return fmt.Sprintf("INFO cannot be read%s: grant +info, since level strict refuses masters that it cannot identify", r.because())
	case Unmarked:
		return "it is still being checked" + r.because()
	case OffClock:
		if r.Ours {
			return fmt.Sprintf("%s, at most %s is accepted, and most masters differ in the same way: correct this machine's clock", ahead(r.By), r.Want)
		}
		return fmt.Sprintf("%s, at most %s is accepted: correct the master's clock, then it votes again", ahead(r.By), r.Want)
	case NotOurs:
		return fmt.Sprintf("its key %s is a %s, want a hash: somebody else uses the reserved name; rename or delete that key", Key, r.Value)
	case OtherFleet:
		return fmt.Sprintf("its marker says %s, this client says %s: give all clients the same settings, or change the whole fleet (redlock init --force)", r.Value, r.Want)
	case NoMarker:
		if r.How == HowEmptied {
			return r.forgot() + ": it gets another when all masters have answered or failed, and votes after a quarantine"
		}
		return "it has no marker, so it is new or has lost its data: it gets a marker when all masters have answered or failed, and votes after a quarantine; " + ifNew
	case Changed:
		return fmt.Sprintf("its data was lost or replaced (%s): it is being checked again", r.Value)
	case Quarantined:
		return fmt.Sprintf("%s: it votes at %s (in %v)%s",
			r.forgot(), r.Until.Add(time.Second-1).UTC().Format(time.RFC3339), max(r.Left, 0).Round(time.Millisecond), r.remedy())
	case NotStandalone:
		return notStandalone(r.Value)
	case Moved:
		return fmt.Sprintf("this fleet is being moved to %s, see docs/how-to/moving-a-fleet.md: take locks in both fleets (WithMovedTo), or only in the new one", r.Value)
	case Forbidden:
		return r.forbidden()
	default:
		return r.Cause.String()
	}
}

// ifNew is what an operator can do about masters that seem to have lost their data.
const ifNew = "if the whole fleet is new, declare it: redlock init, or Client.Init"

// forgot is why it may have forgotten locks.
func (r *AbstainError) forgot() string {
	switch r.How {
	case HowRestarted:
		return "it was restarted"
	case HowResynced:
		return "its data has another history: it was resynchronised from another server, or its first replica was attached"
	case HowAdopted, HowCreated:
		return "it was found without a marker, so it was new or had lost its data"
	case HowEmptied:
		return "it has lost its data: its marker was gone"
	case HowRestored:
		return "its data was lost, and a marker of before was put back: restore backups into masters that are stopped"
	case HowReset:
		return "its clock was set back"
	case HowForced:
		return "an operator has changed the fleet"
	case HowRevoked:
		return "the fleet was declared new without a master that had locks"
	default:
		return "it may have forgotten locks"
	}
}

// remedy is what ends the quarantine sooner, where something does.
func (r *AbstainError) remedy() string {
	if r.How == HowAdopted || r.How == HowCreated {
		return "; " + ifNew
	}
	return ""
}

// notStandalone says what a server in another mode is, and what to do about it.
func notStandalone(mode string) string {
	switch mode {
	case "cluster":
		return "it is a member of a Redis Cluster, want independent masters (docs/reference/servers.md): the cluster moves keys between its members and replaces them by replicas"
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
	if by.Middle() < 0 {
		return fmt.Sprintf("its clock is %v behind ours", drift.Span{Low: -by.High, High: -by.Low})
	}
	return fmt.Sprintf("its clock is %v ahead of ours", by)
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
