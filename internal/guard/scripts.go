package guard

import (
	_ "embed" // the scripts
	"strconv"
	"time"

	"github.com/redquorum/redquorum/internal/script"
)

//go:embed dial.lua
var dialSource string

//go:embed declare.lua
var declareSource string

//go:embed adopt.lua
var adoptSource string

//go:embed init.lua
var initSource string

// The scripts. What they take and return is written in their files.
var (
	Dial    = script.New("dial", dialSource)
	Declare = script.New("declare", declareSource)
	Adopt   = script.New("adopt", adoptSource)
	Init    = script.New("init", initSource)
)

// Scripts is every script, in no particular order.
var Scripts = []*script.Script{Dial, Declare, Adopt, Init}

// DialArgs are the arguments of EVALSHA for Dial: run is the run_id that INFO
// told on the same connection, sent our wall clock just before this is written
// and wait how long its reply is waited for at most.
func (c Config) DialArgs(run string, sent time.Time, wait time.Duration) []any {
	return Dial.Args(nil, []any{Key}, append(c.fleet(run), c.clock(sent, wait)...)...)
}

// DeclareArgs are the arguments of EVALSHA for Declare.
func (c Config) DeclareArgs(run string) []any { return Declare.Args(nil, []any{Key}, c.fleet(run)...) }

// AdoptArgs are the arguments of EVALSHA for Adopt.
func (c Config) AdoptArgs(run string) []any { return Adopt.Args(nil, []any{Key}, c.fleet(run)...) }

// InitArgs are the arguments of EVALSHA for Init, otherwise as DialArgs. created
// is the since of the marker that this client's dial script has just written
// where none was, "" where it did not.
func (c Config) InitArgs(run string, sent time.Time, wait time.Duration, force bool, created string) []any {
	forced := "0"
	if force {
		forced = "1"
	}
	return Init.Args(nil, []any{Key}, append(append(c.fleet(run), c.clock(sent, wait)...), forced, created)...)
}

// fleet is what the marker is to say, but since.
func (c Config) fleet(run string) []any {
	return []any{Version, run, millis(c.MaxTTL), strconv.Itoa(c.Masters), c.Level.String()}
}

// clock is what the master's clock is compared with, in microseconds.
func (c Config) clock(sent time.Time, wait time.Duration) []any {
	if c.Level != Strict {
		return []any{"", "", ""}
	}
	return []any{
		strconv.FormatInt(sent.UnixMicro(), 10),
		strconv.FormatInt(c.Skew().Microseconds(), 10),
		strconv.FormatInt(wait.Microseconds(), 10),
	}
}
