package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/redquorum/redquorum/redlock"
)

// guardNames are the guard levels as --guard has them.
var guardNames = map[string]redlock.GuardLevel{
	"off": redlock.GuardOff, "standard": redlock.GuardStandard, "strict": redlock.GuardStrict,
}

// A guardFlag is a guard level, or "" for the library's default.
type guardFlag struct{ p *string }

func (f *guardFlag) String() string { return *f.p }
func (f *guardFlag) Type() string   { return "level" }

func (f *guardFlag) Set(s string) error {
	if _, ok := guardNames[s]; !ok {
		return errors.New("want off, standard or strict")
	}
	*f.p = s
	return nil
}

// registerGuard adds --guard to a command.
func registerGuard(cmd *cobra.Command, p *string) {
	cmd.Flags().Var(&guardFlag{p}, "guard", "how much a master has to prove before its vote counts: off, standard or strict; all clients of a lock have to agree (default the library's)")
	_ = cmd.RegisterFlagCompletionFunc("guard", cobra.FixedCompletions([]string{"off", "standard", "strict"}, cobra.ShellCompDirectiveNoFileComp)) // the flag exists
}

// guardOption is the library's option for a level; nil for its default.
func guardOption(level string) []redlock.Option {
	if level == "" {
		return nil
	}
	return []redlock.Option{redlock.WithGuard(guardNames[level])}
}
