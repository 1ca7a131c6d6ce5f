package guard

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redquorum/redquorum/drift"
)

// Key is where a master's marker is, in the database of the locks. It is a
// hash without expiry.
const Key = "redquorum:marker"

// Version of the marker that this package writes, its field v.
const Version = "1"

// A Verdict is what a script found and did.
type Verdict uint8

// The verdicts. With those up to Forced there is a marker of this fleet and of
// this process, and its age can be told.
const (
	None      Verdict = iota // no script has answered yet
	Same                     // it was as it should be
	Restarted                // it was of another process; since is now
	Reset                    // its since lay in the future or was none; it is now
	Created                  // there was none; since is now (strict)
	Adopted                  // there was none; since is now
	Declared                 // there was none; since is 0: it votes at once
	Forced                   // an operator wrote it anew; since is now
	Missing                  // there is none; nothing was written
	Conflict                 // it is of a fleet with another configuration; nothing was written
	WrongType                // there is something else at its name; nothing was written
	Skewed                   // the master's clock is off ours; nothing was written
	Present                  // there is one by now; nothing was written
)

var verdicts = map[string]Verdict{
	"SAME": Same, "RESTARTED": Restarted, "RESET": Reset, "CREATED": Created, "ADOPTED": Adopted,
	"DECLARED": Declared, "FORCED": Forced, "MISSING": Missing, "CONFIG": Conflict, "TYPE": WrongType,
	"SKEW": Skewed, "PRESENT": Present,
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

// A Marker is what a script answered. The texts are the fields as they stand in
// Redis, whoever wrote them, 64 bytes at most.
type Marker struct {
	Verdict Verdict
	Clock   drift.Reading // of the master's clock, by the script's TIME

	Version, Run, Since      string
	MaxTTL, Masters, LevelIs string
	Type                     string // with WrongType: what is at its name
}

var errReply = errors.New("guard: not the reply of a marker script")

// ParseMarker reads the reply of a script as redigo returns it, to a call that
// was sent and received at these instants. An error for whatever a script does
// not return: it never becomes a vote.
func ParseMarker(reply any, sent, received drift.Instant) (Marker, error) {
	parts, ok := reply.([]any)
	if !ok || len(parts) < 2 || len(parts) > 8 {
		return Marker{}, errReply
	}
	us, ok := parts[1].(int64)
	if !ok || us < 0 || us >= 1<<53 {
		return Marker{}, errReply
	}
	m := Marker{Clock: drift.Reading{Sent: sent, Received: received, Time: time.UnixMicro(us)}}
	var name string
	texts := []*string{&name, nil, &m.Version, &m.Run, &m.Since, &m.MaxTTL, &m.Masters, &m.LevelIs}
	if len(parts) == 3 {
		texts[2] = &m.Type
	}
	for i, part := range parts {
		if texts[i] == nil {
			continue
		}
		b, ok := part.([]byte)
		if !ok || len(b) > maxValue {
			return Marker{}, errReply
		}
		*texts[i] = string(b)
	}
	m.Verdict = verdicts[name]
	if !m.Verdict.hasParts(len(parts)) {
		return Marker{}, errReply
	}
	if _, ok := m.since(); m.Verdict.written() && !ok {
		return Marker{}, errReply
	}
	return m, nil
}

// hasParts reports whether a reply with this verdict has n elements.
func (v Verdict) hasParts(n int) bool {
	switch v {
	case None:
		return false
	case Skewed:
		return n == 2
	case WrongType:
		return n == 3
	case Present:
		return n == 2 || n == 8 // with the marker from init alone
	default:
		return n == 8
	}
}

// since is the instant from which on the master remembers, by its own clock.
func (m Marker) since() (time.Time, bool) {
	if len(m.Since) == 0 || len(m.Since) > 15 {
		return time.Time{}, false
	}
	ms, err := strconv.ParseUint(m.Since, 10, 63)
	return time.UnixMilli(int64(ms)), err == nil //nolint:gosec // 15 digits
}

// Age is for how long the master has remembered everything, at least: by its
// own clock up to the script's look at it, and from the reply on by our
// monotonic one. It reports false where there is no marker of ours.
func (m Marker) Age(now drift.Instant) (time.Duration, bool) {
	since, ok := m.since()
	if !ok || !m.Verdict.written() {
		return 0, false
	}
	age := max(m.Clock.Time.Sub(since), 0)
	// The sum stays below 292 years: 2⁵³ µs are 285 and a process runs for less
	// than seven.
	return age + now.MonotonicSub(m.Clock.Received), true
}

// matches reports whether the marker is one of this fleet's.
func (m Marker) matches(c Config) bool {
	return Stored{Version: m.Version, MaxTTL: m.MaxTTL, Masters: m.Masters, LevelIs: m.LevelIs}.Matches(c)
}

// millisText is a number of milliseconds as a duration.
func millisText(ms int64) string { return (time.Duration(ms) * time.Millisecond).String() }

func millis(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// Check is the command, with its arguments, that ends each flush that carries
// what asks for a vote. The votes of the flush count only if Holds says so of
// its reply. What it does not see is lost between it and the next dial.
func Check() (command string, args []any) { return "HMGET", []any{Key, "run", "since"} }

// Holds reports whether Check found the marker as it was judged: the master has
// not lost or replaced its data on the living connection.
func (m Marker) Holds(reply any) bool {
	parts, ok := reply.([]any)
	if !ok || len(parts) != 2 || !m.Verdict.written() {
		return false
	}
	run, isRun := parts[0].([]byte)
	since, isSince := parts[1].([]byte)
	return isRun && isSince && string(run) == m.Run && string(since) == m.Since
}
