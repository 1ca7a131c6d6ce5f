package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/redquorum/redquorum/redlock"
)

// guardLevels are the guard levels, by the names that --guard has for them.
var guardLevels = map[string]redlock.GuardLevel{
	"off": redlock.GuardOff, "standard": redlock.GuardStandard, "strict": redlock.GuardStrict,
}

// A guardFlag is a guard level, or "" for the library's default.
type guardFlag struct{ p *string }

func (f *guardFlag) String() string { return *f.p }
func (f *guardFlag) Type() string   { return "level" }

func (f *guardFlag) Set(s string) error {
	if _, ok := guardLevels[s]; !ok {
		return errors.New("want off, standard or strict")
	}
	*f.p = s
	return nil
}

// registerGuard adds --guard to a command.
func registerGuard(cmd *cobra.Command, p *string) {
	cmd.Flags().Var(&guardFlag{p}, "guard", "what a master has to prove before its vote counts: off, standard or strict; all clients need the same level (default standard)")
	_ = cmd.RegisterFlagCompletionFunc("guard", cobra.FixedCompletions([]string{"off", "standard", "strict"}, cobra.ShellCompDirectiveNoFileComp)) // the flag exists
}

// guardOption is the library's option for a level; nil for its default.
func guardOption(level string) []redlock.Option {
	if level == "" {
		return nil
	}
	return []redlock.Option{redlock.WithGuard(guardLevels[level])}
}

// fleetOptions are the library's for what all clients of the masters have to
// agree on: a guard level, "" for the library's default, the longest TTL, and by how
// much their clocks may differ.
func (f *sharedFlags) fleetOptions(level string) []redlock.Option {
	opts := guardOption(level)
	if f.maxTTL != 0 {
		opts = append(opts, redlock.WithMaxTTL(f.maxTTL))
	}
	if f.skew != 0 {
		opts = append(opts, redlock.WithClientSkew(f.skew))
	}
	return opts
}
