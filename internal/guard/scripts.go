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

// includeMarker is the line that marker.lua replaces: Lua on a master has no modules.
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
)

// Scripts has every script of the guard except Probe, in no particular order.
var Scripts = []*script.Script{Dial, Declare, Adopt, Init, List}

// A Target is a master that a script runs on, and the moment at which it is sent.
type Target struct {
	Run  string // run_id from INFO on the same connection; "", for Dial alone: not known yet
	DB   int    // number of the database of the locks
	Seen string // Facts.Seen
	// Aged is since of a marker that is older than the quarantine of all earlier settings; "": it
	// is not known to be.
	Aged string
	Sent time.Time     // our wall clock just before the script is sent
	Wait time.Duration // how long to wait for its reply at most
}

// DialArgs are the arguments of EVALSHA for Dial.
func (c Config) DialArgs(t Target) []any { return c.args(Dial, t, "", t.Aged) }

// LookArgs are the arguments for a client that only looks: Dial answers what it would write, and
// writes nothing except a sighting.
func (c Config) LookArgs(t Target) []any { return c.args(Dial, t, "look", "") }

// DeclareArgs are the arguments of EVALSHA for Declare, by what the master has answered to
// the look that decided it.
func (c Config) DeclareArgs(t Target, seen Fields) []any {
	return c.args(Declare, t, seen.Replid, seen.Since, seen.Wall)
}

// AdoptArgs are the arguments of EVALSHA for Adopt, by what is known of the master.
// owner is the name of the client's owner.
func (c Config) AdoptArgs(t Target, f Facts, owner string) []any {
	known := settleFor // for a master on which somebody has seen a marker
	if !f.Ours {
		known = c.settling(f)
	}
	return c.args(Adopt, t, millis(settleFor), millis(known), c.was(f.Longest), owner)
}

// was is what a marker notes as the longest MaxTTL of earlier settings: "" if ours is as long.
func (c Config) was(longest time.Duration) string {
	if longest <= c.MaxTTL {
		return ""
	}
	return millis(longest)
}

// InitArgs are the arguments of EVALSHA for Init, by what the master has answered to the look that
// decided it. force also replaces a marker that is there. longest is the greatest MaxTTL that any
// master has named.
func (c Config) InitArgs(t Target, seen Fields, force bool, longest time.Duration) []any {
	return c.args(Init, t, flag(force), millis(c.Quarantine()),
		seen.Replid, seen.Since, seen.Wall, millis(max(longest, c.MaxTTL)))
}

func (c Config) args(s *script.Script, t Target, further ...any) []any {
	skew := "" // unused: clocks are not compared
	if c.Level == Strict {
		skew = strconv.FormatInt(c.Skew().Microseconds(), 10)
	}
	args := []any{
		Version, t.Run, millis(c.MaxTTL), strconv.Itoa(c.Masters), c.Level.String(), strconv.Itoa(t.DB),
		strconv.FormatInt(t.Sent.UnixMicro(), 10), skew, strconv.FormatInt(t.Wait.Microseconds(), 10), t.Seen,
	}
	return s.Args(nil, []string{Key}, append(args, further...)...)
}

func flag(set bool) string {
	if set {
		return "1"
	}
	return "0"
}
