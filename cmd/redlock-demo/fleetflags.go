package main

import (
	"errors"
	"time"

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
	cmd.Flags().Var(&guardFlag{p}, "guard", "how much a master has to prove before its vote counts: off, standard or strict (default the library's)")
	_ = cmd.RegisterFlagCompletionFunc("guard", cobra.FixedCompletions([]string{"off", "standard", "strict"}, cobra.ShellCompDirectiveNoFileComp)) // the flag exists
}

// guardOption is the library's option for a level; nil for its default.
func guardOption(level string) []redlock.Option {
	if level == "" {
		return nil
	}
	return []redlock.Option{redlock.WithGuard(guardLevels[level])}
}

// fleetFlags are what all clients of the same locks have to agree on.
type fleetFlags struct {
	guard  string
	maxTTL time.Duration // 0: the library's default
}

const (
	minMaxTTL = 20 * time.Millisecond
	maxMaxTTL = 24 * time.Hour
)

func (f *fleetFlags) register(cmd *cobra.Command) {
	registerGuard(cmd, &f.guard)
	cmd.Flags().Var(&rangeFlag{p: &f.maxTTL, low: minMaxTTL, high: maxMaxTTL}, "max-ttl", "the longest TTL that any client of these masters uses; all have to agree (default the library's)")
	cmd.Flags().Lookup("max-ttl").DefValue = ""
}

// options are the library's.
func (f *fleetFlags) options() []redlock.Option {
	opts := guardOption(f.guard)
	if f.maxTTL != 0 {
		opts = append(opts, redlock.WithMaxTTL(f.maxTTL))
	}
	return opts
}
