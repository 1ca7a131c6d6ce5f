// Package root puts the commands of redlock together. Package demoroot adds the
// demonstration, so that redlock does not link it.
package root

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/doctor"
	"github.com/redquorum/redquorum/cmd/internal/exec"
	"github.com/redquorum/redquorum/cmd/internal/locks"
	"github.com/redquorum/redquorum/cmd/internal/release"
	"github.com/redquorum/redquorum/cmd/internal/setup"
	"github.com/redquorum/redquorum/cmd/internal/status"
)

// Redlock returns the command redlock, which uses locks from a shell and looks after masters.
func Redlock(a *app.App) *cobra.Command {
	shared := &app.SharedFlags{}
	root := &cobra.Command{
		Use:   "redlock",
		Short: "Use distributed locks on a quorum of Redis masters from a shell",
		Long: `redlock uses locks from a shell: exec runs a command while it holds a lock, and
status, locks and release look after locks, doctor and init after the masters.`,
	}
	return Finished(root, a, shared, Tools(a, shared))
}

// Tools are the commands that both programs have.
func Tools(a *app.App, shared *app.SharedFlags) []*cobra.Command {
	return []*cobra.Command{
		exec.New(a, shared), status.New(a, shared), locks.New(a, shared), release.New(a, shared),
		doctor.New(a, shared), setup.New(a, shared),
	}
}

// Finished gives a program its commands.
func Finished(root *cobra.Command, a *app.App, shared *app.SharedFlags, commands []*cobra.Command) *cobra.Command {
	root.Version = app.Version()
	root.SilenceErrors = true // Run prints them
	root.SilenceUsage = true
	root.SuggestionsMinimumDistance = 2
	root.Args = cobra.ArbitraryArgs // Run has rejected them, with an error of its own
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		return app.ApplyConfig(cmd, a, shared.Config)
	}
	root.SetOut(a)
	root.SetErr(a.Err)
	root.SetVersionTemplate(root.Name() + " {{.Version}}\n")
	root.SetFlagErrorFunc(app.FlagError)
	wrapped := fmt.Sprintf(".FlagUsagesWrapped %d", app.HelpColumns)
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", wrapped))
	root.SetHelpFunc(app.PrintHelp)
	root.AddCommand(commands...)
	root.SetHelpCommand(app.NewHelp())
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	completion, _, _ := root.Find([]string{"completion"}) // it is there
	completion.SuggestionsMinimumDistance = 2
	for _, shell := range completion.Commands() {
		shell.Args = app.NoArguments
	}
	return root
}
