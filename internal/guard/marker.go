package guard

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/redquorum/redquorum/drift"
)

// Key is the key of a master's marker, a hash without expiry, in the database of the locks.
const Key = "redquorum:marker"

// Sighting is the key of a hash that says since when a master is known to have no marker. It is in
// the same database, and expires after a day.
const Sighting = "redquorum:sighted"

// Version is the version of the marker that this package writes: its field v.
const Version = "3"

// A Verdict is what a script found and did.
type Verdict uint8

// The verdicts. From Same to Forced there is a marker of this fleet and of this process, and its
// age is known.
const (
	None      Verdict = iota // no script has answered yet
	Same                     // it was as it should be
	Restarted                // another process or history, keys were evicted, or it was lost and put back; since is now
	Reset                    // its since was in the future, or no time; since is now
	Adopted                  // there was none; since is when it was first seen without one
	Declared                 // there was none; since is 0: it votes at once
	Forced                   // an operator wrote it anew; since is now
	Missing                  // there is none
	Conflict                 // it is of a fleet with another configuration; nothing was written
	WrongType                // there is something else at its name; nothing was written
	Skewed                   // the master's clock differs too much from ours; nothing was written
	Present                  // it is no longer what the client took it for; nothing was written
)

var verdicts = map[string]Verdict{
	"SAME": Same, "RESTARTED": Restarted, "RESET": Reset, "ADOPTED": Adopted,
	"DECLARED": Declared, "FORCED": Forced, "MISSING": Missing, "CONFIG": Conflict,
	"TYPE": WrongType, "SKEW": Skewed, "PRESENT": Present,
}

// String is the verdict as the scripts answer it.
func (v Verdict) String() string {
	for name, verdict := range verdicts {
		if v == verdict {
			return name
		}
	}
	if v == None {
		return "NONE"
	}
	return fmt.Sprintf("Verdict(%d)", uint8(v))
}

// written reports whether there is a marker whose age can be told.
func (v Verdict) written() bool { return v >= Same && v <= Forced }

// Written reports whether there is a marker of this fleet and of this process.
func (m Marker) Written() bool { return m.Verdict.written() }

// A Marker is what a script answered.
type Marker struct {
	Verdict Verdict
	Clock   drift.Reading // of the master's clock, by the script's TIME
	Fields

	Type string // with WrongType: what is at its name
	// With Missing, Sighted is for how long at least it has been known that there is no marker.
	// Known says that somebody has seen one there before: the master has lost its data. Replid,
	// Since and Wall are then those of the sighting.
	Sighted time.Duration
	Known   bool
}

// Fields are the fields of the hash as they stand in Redis, whoever wrote them, each cut to 64
// bytes; "" for a missing one.
type Fields struct {
	Version string
	Run     string // run_id of the process that it was written for
	Replid  string // master_replid, the history of its data; "": INFO is not permitted
	Since   string // since when the process remembers every lock, by the master's clock, in ms since 1970
	Wall    string // the same by the wall clock of the client that wrote it
	MaxTTL  string // in ms
	Masters string
	LevelIs string
	DB      string // number of the database
	How     string // why Since is what it is: one of the How constants; "": not known
	// Seen is since of the marker that init replaced by this declared one; "": there was none.
	Seen string
	// Was is the longest MaxTTL of earlier settings, in ms; "": the quarantine depends on MaxTTL
	// alone.
	Was string
	By  string // owner's name of the client that adopted it; "": none did, or it gave no name
	To  string // where its fleet was moving to, from an earlier version: not our fleet; "": nowhere
}

// The values of Fields.How.
const (
	HowDeclared  = "declared"  // with its fleet, which was new
	HowAdopted   = "adopted"   // it had no marker, and its fleet was not new
	HowEmptied   = "emptied"   // adopted, and a client had seen a marker there before
	HowRestarted = "restarted" // another process serves it
	HowResynced  = "resynced"  // its data has another history
	HowEvicted   = "evicted"   // it has evicted keys
	HowRestored  = "restored"  // it was lost and put back
	HowReset     = "reset"     // Since was no instant of the past
	HowForced    = "forced"    // an operator changed the fleet
)

// texts are the fields in the order of names in marker.lua.
func (f *Fields) texts() []*string {
	return []*string{
		&f.Version, &f.Run, &f.Replid, &f.Since, &f.Wall, &f.MaxTTL, &f.Masters, &f.LevelIs,
		&f.DB, &f.How, &f.Seen, &f.Was, &f.By, &f.To,
	}
}

var fieldCount = len(new(Fields).texts())

var errReply = errors.New("guard: not the reply of a marker script")

// ParseMarker reads the reply of a script as redigo returns it. sent and received are the instants
// of the call. It returns an error for anything that a script does not return: that never becomes a
// vote.
func ParseMarker(reply any, sent, received drift.Instant) (Marker, error) {
	parts, ok := reply.([]any)
	if !ok || len(parts) < 2 || len(parts) > 2+fieldCount {
		return Marker{}, errReply
	}
	us, ok := parts[1].(int64)
	if !ok || us < 0 || us >= 1<<53 {
		return Marker{}, errReply
	}
	m := Marker{Clock: drift.Reading{Sent: sent, Received: received, Time: time.UnixMicro(us)}}
	name, ok := word(parts[0])
	m.Verdict = verdicts[name]
	if !ok || !m.Verdict.hasParts(len(parts)) {
		return Marker{}, errReply
	}
	switch rest := parts[2:]; m.Verdict {
	case Missing:
		ms, ok := rest[0].(int64)
		if !ok || ms < 0 || ms >= 1<<43 {
			return Marker{}, errReply
		}
		m.Sighted = time.Duration(ms) * time.Millisecond
		var known string
		for i, text := range []*string{&m.Replid, &m.Since, &m.Wall, &known} {
			if *text, ok = word(rest[1+i]); !ok {
				return Marker{}, errReply
			}
		}
		m.Known = known != ""
	case WrongType:
		if m.Type, ok = word(rest[0]); !ok {
			return Marker{}, errReply
		}
	default:
		for i, text := range m.texts()[:len(rest)] {
			if *text, ok = word(rest[i]); !ok {
				return Marker{}, errReply
			}
		}
	}
	if _, ok := instant(m.Since); m.Verdict.written() && !ok {
		return Marker{}, errReply
	}
	return m, nil
}

func word(part any) (string, bool) {
	b, ok := part.([]byte)
	return string(b[:min(len(b), maxValue)]), ok && len(b) <= maxValue
}

// hasParts reports whether a reply with this verdict has n elements.
func (v Verdict) hasParts(n int) bool {
	all := 2 + fieldCount
	switch v {
	case None:
		return false
	case WrongType:
		return n == 3
	case Missing:
		return n == 7
	case Present, Skewed:
		return n == 2 || n == all // with the marker from init, and for a client that only looks
	default:
		return n == all
	}
}

// instant reads a number of milliseconds since 1970.
func instant(text string) (time.Time, bool) {
	if len(text) == 0 || len(text) > 15 {
		return time.Time{}, false
	}
	ms, err := strconv.ParseUint(text, 10, 63)
	return time.UnixMilli(int64(ms)), err == nil //nolint:gosec // 15 digits
}

// WithoutSince is since when an adopted master was known to have no marker, by its own clock.
func (f Fields) WithoutSince() time.Time {
	since, _ := instant(f.Since)
	return since
}

// Age is for how long at least the master has remembered everything. Up to the script's look at the
// clock it is the smaller of what the master's clock and our wall clock say; from the reply on it
// counts by our monotonic clock. It reports false where there is no marker of ours.
//
// Our wall clock counts because a master that boots with a slow clock, which is then set right,
// would seem to remember for longer than it does. If our clock is before Wall, it is wrong, or the
// clock of the client that wrote Wall is. Then it does not count: otherwise a client whose clock is
// an hour behind could not lock for an hour after a restart.
func (m Marker) Age(now drift.Instant) (time.Duration, bool) {
	since, ok := instant(m.Since)
	if !ok || !m.Verdict.written() {
		return 0, false
	}
	age := max(m.Clock.Time.Sub(since), 0)
	if wall, ok := instant(m.Wall); ok {
		if ours := m.Clock.Sent.Wall().Sub(wall); ours >= 0 {
			age = min(age, ours)
		}
	}
	// The sum stays below 292 years: 2⁵³ µs are 285 and a process runs for less than seven.
	return age + now.MonotonicSub(m.Clock.Received), true
}

// Config is the configuration that the marker names, with the default drift; false: it is not a
// valid one of this version.
func (f Fields) Config() (Config, bool) {
	c := Config{Drift: drift.Default}
	for _, level := range []Level{Standard, Strict} {
		if level.String() == f.LevelIs {
			c.Level = level
		}
	}
	ttl, err := strconv.ParseInt(f.MaxTTL, 10, 64)
	n, err2 := strconv.Atoi(f.Masters)
	if err != nil || err2 != nil || ttl > math.MaxInt64/int64(time.Millisecond) {
		return Config{}, false
	}
	c.MaxTTL, c.Masters = time.Duration(ttl)*time.Millisecond, n
	if c.Level == Off || c.Validate() != nil || !f.Matches(c) {
		return Config{}, false
	}
	return c, true
}

// Matches reports whether the settings that all masters of a fleet have in common are those of c.
func (f Fields) Matches(c Config) bool {
	return f.Version == Version && f.MaxTTL == millis(c.MaxTTL) && f.Masters == strconv.Itoa(c.Masters) &&
		f.LevelIs == c.Level.String() && f.To == ""
}

// longest is the greatest MaxTTL that the marker names: its own or the one of earlier settings.
func (f Fields) longest() time.Duration { return max(duration(f.MaxTTL), duration(f.Was)) }

// duration reads a number of milliseconds that a MaxTTL can have; 0 for anything else.
func duration(text string) time.Duration {
	ms, err := strconv.ParseInt(text, 10, 44)
	if err != nil || ms < 0 || ms > maxMaxTTL.Milliseconds() {
		return 0
	}
	return time.Duration(ms) * time.Millisecond
}

// millisText is a number of milliseconds as a duration.
func millisText(ms int64) string { return (time.Duration(ms) * time.Millisecond).String() }

func millis(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
