package guard

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/redquorum/redquorum/drift"
)

// Key is where a master's marker is, in the database of the locks. It is a
// hash without expiry.
const Key = "redquorum:marker"

// Sighting is where it stands since when a master without a marker is known to
// have none, in the same database: a hash that expires after a day.
const Sighting = "redquorum:sighted"

// Version of the marker that this package writes, its field v.
const Version = "3"

// A Verdict is what a script found and did.
type Verdict uint8

// The verdicts. With those up to Forced there is a marker of this fleet and of
// this process, and its age can be told.
const (
	None      Verdict = iota // no script has answered yet
	Same                     // it was as it should be
	Restarted                // another process, another history of the data, or keys were evicted; since is now
	Reset                    // its since lay in the future or was none; it is now
	Adopted                  // there was none; since is when it was first seen without one
	Declared                 // there was none; since is 0: it votes at once
	Forced                   // an operator wrote it anew; since is now
	Missing                  // there is none
	Conflict                 // it is of a fleet with another configuration; nothing was written
	WrongType                // there is something else at its name; nothing was written
	Skewed                   // the master's clock is off ours; nothing was written
	Present                  // it is not what it was taken for by now; nothing was written
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
	// Sighted is for how long it has been known that there is none, at least, and Known
	// that somebody has seen one there before: the master has lost its data. With Missing,
	// where Replid, Since and Wall are those of the sighting.
	Sighted time.Duration
	Known   bool
}

// Fields are those of the hash, as they stand in Redis, whoever wrote them, 64
// bytes at most; "" for what it lacks.
type Fields struct {
	Version string
	Run     string // run_id of the process that it was written for
	Replid  string // master_replid, the history of its data; "": INFO is not permitted
	Since   string // from when on that remembers every lock, by the master's clock, in ms since 1970
	Wall    string // the same by the wall clock of the client that wrote it
	MaxTTL  string // in ms
	Masters string
	LevelIs string
	DB      string // number of the database
	How     string // what has made Since what it is: one of the How constants; "": not told
	// Seen is since of the marker in whose place init has declared it; "": there was none.
	Seen string
	// Was is the longest MaxTTL of the settings before, in ms; "": the quarantine goes by MaxTTL alone.
	Was string
	By  string // owner's name of the client that has adopted it; "": none has, or it did not tell
	To  string // where its fleet was moving to, by an earlier version; "": nowhere. It is no fleet of ours
}

// The values of Fields.How.
const (
	HowDeclared  = "declared"  // with its fleet, as new
	HowAdopted   = "adopted"   // it had no marker, and its fleet was not new
	HowEmptied   = "emptied"   // as either, and a client has seen a marker there before
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

// fieldCount is how many there are.
var fieldCount = len(new(Fields).texts())

var errReply = errors.New("guard: not the reply of a marker script")

// ParseMarker reads the reply of a script as redigo returns it, to a call that
// was sent and received at these instants. An error for whatever a script does
// not return: it never becomes a vote.
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
		return n == 2 || n == all // with the marker from init, and for who only looks
	default:
		return n == all
	}
}

// instant is a number of milliseconds since 1970.
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

// Age is for how long the master has remembered everything, at least: the
// smaller of what its own clock and our wall clock say, up to the script's look at
// it, and from the reply on by our monotonic clock. It reports false where there
// is no marker of ours.
//
// Our wall clock is heard because a master that boots with a slow clock, which is
// then set right, would seem to remember for longer than it does. Where it lies
// before Wall, ours or that of the client that wrote it is off, and it is left
// out: a client whose clock is behind by an hour could not lock for as long after
// a restart.
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
	// The sum stays below 292 years: 2⁵³ µs are 285 and a process runs for less
	// than seven.
	return age + now.MonotonicSub(m.Clock.Received), true
}

// Config is the configuration that the marker names, with the default drift;
// false: it is none of this version.
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

// Matches reports whether the marker is one of this fleet's, as far as all its
// masters have it in common.
func (f Fields) Matches(c Config) bool {
	return f.Version == Version && f.MaxTTL == millis(c.MaxTTL) && f.Masters == strconv.Itoa(c.Masters) &&
		f.LevelIs == c.Level.String() && f.To == ""
}

// longest is the greatest MaxTTL that the marker tells: its own and that of the settings before.
func (f Fields) longest() time.Duration { return max(duration(f.MaxTTL), duration(f.Was)) }

// duration is a number of milliseconds that a MaxTTL can have; 0: it is none.
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
