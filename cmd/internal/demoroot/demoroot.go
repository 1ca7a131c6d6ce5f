// Package demoroot puts the commands of redlock-demo together: demo, and those of redlock.
package demoroot

import (
	"github.com/spf13/cobra"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/demo"
	"github.com/redquorum/redquorum/cmd/internal/root"
)

// Demo returns the root command of redlock-demo. Without a command it runs the demonstration. It
// also has the commands of redlock.
func Demo(a *app.App) *cobra.Command {
	shared := &app.SharedFlags{}
	demonstration := demo.New(a, shared)
	top := &cobra.Command{
		Use:   "redlock-demo",
		Short: "See a distributed lock on a quorum of Redis masters at work",
		Long: `redlock-demo shows Redlock at work: demo sells an inventory, first without a
lock and then with one, while masters fail. It also has the commands of redlock,
under the same flags.

Without a command it runs "redlock-demo demo".`,
		Example: demonstration.Example,
		RunE:    demonstration.RunE,
	}
	top.Flags().AddFlagSet(demonstration.Flags())
	return root.Finished(top, a, shared, append(root.Tools(a, shared), demo.New(a, shared)))
}
