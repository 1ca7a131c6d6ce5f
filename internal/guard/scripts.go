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

//go:embed sight.lua
var sightSource string

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
	Sight   = script.New("sight", withMarker(sightSource))
	Acquire = script.New("acquire", acquireSource)
)

// Scripts has every script that judges or writes a marker, in no particular order: all but
// Acquire.
var Scripts = []*script.Script{Dial, Declare, Adopt, Init, Fleet, Sight}

// A Target is a master that a script runs on, and the moment at which it is sent.
type Target struct {
	Run   string        // run_id that INFO told on the same connection; "": not yet, for Dial alone
	DB    int           // number of the database of the locks
	Fleet string        // id of the fleet; "": not known
	Sent  time.Time     // our wall clock just before the script is sent
	Wait  time.Duration // how long to wait for its reply at most
}

// DialArgs are the arguments of EVALSHA for Dial.
func (c Config) DialArgs(t Target) []any { return c.args(Dial, t) }

// SightArgs are the arguments of EVALSHA for Sight.
func (c Config) SightArgs(t Target) []any { return c.args(Sight, t) }

// DeclareArgs are the arguments of EVALSHA for Declare.
func (c Config) DeclareArgs(t Target) []any { return c.args(Declare, t) }

// AdoptArgs are the arguments of EVALSHA for Adopt.
func (c Config) AdoptArgs(t Target) []any { return c.args(Adopt, t, millis(settleFor)) }

// InitArgs are the arguments of EVALSHA for Init. force: also over a marker that
// is there; without: some masters of the fleet are absent.
func (c Config) InitArgs(t Target, force, without bool) []any {
	return c.args(Init, t, flag(force), millis(c.Quarantine()), flag(without))
}

// NameArgs are the arguments of EVALSHA for Fleet that give a marker of the fleet
// seen the id of t.
func (c Config) NameArgs(t Target, seen string) []any { return c.args(Fleet, t, "name", seen) }

// WholeArgs are those that note that no master of the fleet is absent.
func (c Config) WholeArgs(t Target, seen string) []any { return c.args(Fleet, t, "whole", seen) }

// RevokeArgs are those that take the vote back which a declaration gave.
func (c Config) RevokeArgs(t Target, seen string) []any { return c.args(Fleet, t, "revoke", seen) }

// CloseArgs are those that say that the fleet is being moved.
func (c Config) CloseArgs(t Target, seen, to string) []any {
	return c.args(Fleet, t, "close", seen, to)
}

func (c Config) args(s *script.Script, t Target, further ...any) []any {
	skew := "" // unused: clocks are not compared
	if c.Level == Strict {
		skew = strconv.FormatInt(c.Skew().Microseconds(), 10)
	}
	args := []any{
		Version, t.Run, millis(c.MaxTTL), strconv.Itoa(c.Masters), c.Level.String(), strconv.Itoa(t.DB),
		strconv.FormatInt(t.Sent.UnixMicro(), 10), skew, strconv.FormatInt(t.Wait.Microseconds(), 10), t.Fleet,
	}
	return s.Args(nil, []any{Key}, append(args, further...)...)
}

func flag(set bool) string {
	if set {
		return "1"
	}
	return "0"
}
