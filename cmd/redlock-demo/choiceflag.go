package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// A choiceFlag is one of several words.
type choiceFlag struct {
	p       *string
	choices []string
}

func (f *choiceFlag) String() string { return *f.p }
func (f *choiceFlag) Type() string   { return "choice" }

func (f *choiceFlag) Set(s string) error {
	for _, c := range f.choices {
		if s == c {
			*f.p = s
			return nil
		}
	}
	last := len(f.choices) - 1
	return fmt.Errorf("want %s or %s", strings.Join(f.choices[:last], ", "), f.choices[last])
}

// registerChoice adds a flag of which the shell knows the choices.
func registerChoice(cmd *cobra.Command, name string, p *string, choices []string, usage string) {
	cmd.Flags().Var(&choiceFlag{p, choices}, name, usage)
	_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(choices, cobra.ShellCompDirectiveNoFileComp)) // the flag exists
}
