package faults

import "github.com/redquorum/redquorum/redlock"

// Guard levels of a spec.
const (
	levelOff = "off"
)

// fencing says whether the library has fencing tokens.
const fencing = false

// guarded says whether masters that have forgotten are kept from voting.
const guarded = false

func levelOption(level string) []redlock.Option {
	if level == levelOff {
		return []redlock.Option{redlock.WithGuard(redlock.GuardOff)}
	}
	return nil
}

// usableMaster says whether a master's vote counts for a client.
func usableMaster(m redlock.MasterReport) bool { return m.Connected }
