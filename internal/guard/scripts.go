package guard

import (
	_ "embed" // the scripts
	"strconv"
	"strings"
	"time"

	"github.com/redquorum/redquorum/internal/script"
)

//go:embed marker.lua
var markerSource string

//go:embed dial.lua
var dialSource string

//go:embed declare.lua
var declareSource string

//go:embed adopt.lua
var adoptSource string

//go:embed init.lua
var initSource string

//go:embed fleet.lua
var fleetSource string

//go:embed acquire.lua
var acquireSource string

// includeMarker is the line that asks for marker.lua: Lua on a master knows no
// modules.
const includeMarker = "-- include marker.lua\n"

func withMarker(source string) string {
	return strings.Replace(source, includeMarker, markerSource, 1)
}

// The scripts. What they take and return is written in their files.
var (
	Dial    = script.New("dial", withMarker(dialSource))
	Declare = script.New("declare", withMarker(declareSource))
	Adopt   = script.New("adopt", withMarker(adoptSource))
	Init    = script.New("init", withMarker(initSource))
	Fleet   = script.New("fleet", withMarker(fleetSource))
	Acquire = script.New("acquire", acquireSource)
)

// Scripts has every script that judges or writes a marker, in no particular order: all but
// Acquire and Probe.
var Scripts = []*script.Script{Dial, Declare, Adopt, Init, Fleet}

// A Target is a master that a script runs on, and the moment at which it is sent.
type Target struct {
	Run   string        // run_id that INFO told on the same connection; "": not yet, for Dial alone
	DB    int           // number of the database of the locks
	Fleet string        // id of the fleet; "": not known
	Seen  string        // Facts.Seen
	Sent  time.Time     // our wall clock just before the script is sent
	Wait  time.Duration // how long to wait for its reply at most
}

// DialArgs are the arguments of EVALSHA for Dial.
func (c Config) DialArgs(t Target) []any { return c.args(Dial, t) }

// LookArgs are those of who only looks: Dial answers what it would write, and writes nothing
// but a sighting.
func (c Config) LookArgs(t Target) []any { return c.args(Dial, t, "look") }

// DeclareArgs are the arguments of EVALSHA for Declare, by what the master has answered to
// the look that decided it.
func (c Config) DeclareArgs(t Target, seen Fields) []any {
	return c.args(Declare, t, seen.Replid, seen.Since, seen.Wall)
}

// AdoptArgs are the arguments of EVALSHA for Adopt.
func (c Config) AdoptArgs(t Target) []any { return c.args(Adopt, t, millis(settleFor)) }

// InitArgs are the arguments of EVALSHA for Init, by what the master has answered to the
// look that decided it. force: also over a marker that is there; without: some masters of
// the fleet are absent.
func (c Config) InitArgs(t Target, seen Fields, force, without bool) []any {
	return c.args(Init, t, flag(force), millis(c.Quarantine()), flag(without), seen.Replid, seen.Since, seen.Wall)
}

// NameArgs are the arguments of EVALSHA for Fleet that give a marker of the fleet
// seen the id of t.
func (c Config) NameArgs(t Target, seen string) []any { return c.args(Fleet, t, "name", seen) }

// WholeArgs are those that note that no master of the fleet is absent.
func (c Config) WholeArgs(t Target, seen string) []any { return c.args(Fleet, t, "whole", seen) }

// RevokeArgs are those that take the vote back which a declaration gave.
func (c Config) RevokeArgs(t Target, seen string) []any { return c.args(Fleet, t, "revoke", seen) }

// CloseArgs are those that say that the fleet is being moved. force: also where it is being
// moved elsewhere.
func (c Config) CloseArgs(t Target, seen, to string, force bool) []any {
	return c.args(Fleet, t, "close", seen, to, flag(force))
}

func (c Config) args(s *script.Script, t Target, further ...any) []any {
	skew := "" // unused: clocks are not compared
	if c.Level == Strict {
		skew = strconv.FormatInt(c.Skew().Microseconds(), 10)
	}
	args := []any{
		Version, t.Run, millis(c.MaxTTL), strconv.Itoa(c.Masters), c.Level.String(), strconv.Itoa(t.DB),
		strconv.FormatInt(t.Sent.UnixMicro(), 10), skew, strconv.FormatInt(t.Wait.Microseconds(), 10), t.Fleet, t.Seen,
	}
	return s.Args(nil, []string{Key}, append(args, further...)...)
}

func flag(set bool) string {
	if set {
		return "1"
	}
	return "0"
}
