package faults

import (
	"fmt"
	"sync"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

// Guard levels of a spec.
const (
	levelDefault  = ""
	levelOff      = "off"
	levelStandard = "standard"
	levelStrict   = "strict"
)

var levels = map[string]redlock.GuardLevel{
	levelOff: redlock.GuardOff, levelStandard: redlock.GuardStandard, levelStrict: redlock.GuardStrict,
}

func levelOption(level string) []redlock.Option {
	if l, ok := levels[level]; ok {
		return []redlock.Option{redlock.WithGuard(l)}
	}
	return nil
}

// offers says whether this version of the library has a guard level.
func offers(level string) error {
	if l, ok := levels[level]; ok {
		return try(redlock.WithGuard(l))
	}
	return nil
}

// fencing says whether the library has fencing tokens.
var fencing = sync.OnceValue(func() bool { return try(redlock.WithFencing()) == nil })

// guarded says whether masters that have forgotten are kept from voting by
// default.
var guarded = sync.OnceValue(func() bool { return offers(levelStandard) == nil })

// try makes a client with an option, which connects to nobody.
func try(o redlock.Option) error {
	c, err := redlock.Open([]string{"redis://127.0.0.1:1"}, o, redlock.WithTTL(2*time.Second))
	if err != nil {
		return fmt.Errorf("this version of the library does not have it: %w", err)
	}
	return c.Close()
}

// usableMaster says whether a master's vote counts for a client, and why not.
func usableMaster(m redlock.MasterReport) (votes bool, why string) {
	switch {
	case m.Why != nil:
		why = m.Why.Error()
	case m.Err != nil:
		why = m.Err.Error()
	}
	return m.Votes, why
}
