// Package demo is the demonstration that redlock-demo shows: one inventory, many buyers, and the lock between them.
//
// [Run] sells an inventory first without a lock, which oversells, then with one, which is
// exact. Then it takes masters away one by one while it sells: with a minority gone it
// goes on, without a quorum it refuses and says why, and with one master back it recovers
// by itself. At last it shows the same fault twice. Masters restart without their data while
// a lock is held: plain Redlock gets two holders, and with the guard nobody else gets the lock.
// The [Result] lists expectations, each checked against what was measured. Run kills and
// restarts its own masters. Where others run them, it asks the person at the terminal to do
// that, or skips the part and says so.
package demo

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/explain"
	"github.com/redquorum/redquorum/cmd/internal/term"
)

const demoExamples = `  redlock-demo                          five masters inside the program
  redlock-demo --spawn redis-server     five real masters
  redlock-demo --masters redis://a,redis://b:7000,rediss://user:pw@c
  redlock-demo --json | jq .verdict`

// A command holds the flags of demo.
type command struct {
	*app.App
	*app.SharedFlags
	spawn string
	ttl   time.Duration
}

// New makes the command demo.
func New(a *app.App, shared *app.SharedFlags) *cobra.Command {
	o := &command{App: a, SharedFlags: shared, ttl: DefaultTTL}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Sell an inventory without a lock, with it, and with masters gone",
		Long: `demo sells one inventory to many buyers. Without a lock it sells more than there
is. With a lock it sells exactly what there is. Then demo stops masters one by
one while the sale goes on. With a minority of them stopped, the sale continues.
Without a quorum the lock is refused, and demo says why. When a master is back,
the sale goes on by itself. Last it lets a majority of its own masters restart
without their data while a lock is held: without the guard the lock is granted
twice, with it nobody gets in, and demo says until when.

The masters are embedded in the program, unless --spawn or --masters names real
ones. demo does not stop the masters of --masters: at a terminal it asks you to
stop them; elsewhere it leaves that part out.

Exit code: 0 when every expectation held, 1 when one did not; 64 for a mistake
in the arguments, or when no master answers; 69 when some masters answer, but
not a quorum.`,
		Example: demoExamples,

		Args: app.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.demonstrate(cmd) },
	}
	shared.Register(cmd, "masters", "config", "max-ttl", "json") // no client-skew: nobody else uses its fencing tokens
	cmd.Flags().Var(app.RangeFlag(&o.ttl, MinTTL, maxTTL), "ttl",
		"how long the masters keep a lock after its holder stops renewing it, 20ms to 1m")
	cmd.Flags().StringVar(&o.spawn, "spawn", "",
		"start five real masters from this `binary` and kill some; a path, or a name such as redis-server")
	return cmd
}

// demonstrate runs the demonstration and prints its result.
func (o *command) demonstrate(cmd *cobra.Command) error {
	result, err := o.run(cmd)
	if o.JSON && result != nil {
		if writeErr := app.WriteJSON(o.Out, result); writeErr != nil {
			return writeErr
		}
	}
	_, ok := errors.AsType[*explain.NoQuorumError](err)
	switch {
	case ok && !slices.ContainsFunc(result.Masters, Master.reached):
		// A wrong list is more likely than masters that are all down.
		return app.EndsWith(app.ExitUsage, err)
	case ok:
		return app.EndsWith(app.ExitNoQuorum, err)
	case err == nil && result.Failed() > 0:
		failed := fmt.Errorf("%d of %d expectations did not hold", result.Failed(), len(result.Expectations))
		return app.EndsWith(app.ExitFailed, failed)
	}
	return err
}

// run runs the demonstration on the masters that the flags ask for.
func (o *command) run(cmd *cobra.Command) (result *Result, err error) {
	cluster, err := o.cluster(cmd)
	if err != nil {
		return nil, err
	}
	defer func() {
		if closeErr := cluster.Close(); err == nil {
			err = closeErr
		}
	}()
	o.Skips.Store(true)
	return Run(cmd.Context(), Options{
		Cluster: cluster, TTL: o.ttl, MaxTTL: o.MaxTTL,
		Buyers: DefaultBuyers, Stock: DefaultStock,
		Screen:  o.screen(),
		Person:  !o.JSON && term.IsTerminal(o.In) && term.IsTerminal(o.Out),
		Skip:    o.Skip,
		Version: cmd.Root().Version,
	})
}

// screen makes the screen for the standard output: silent, plain, or live on a terminal.
func (o *command) screen() *Screen {
	if o.JSON {
		return Silent()
	}
	able := o.Live()
	if runtime.GOOS == "windows" && o.Env("WT_SESSION") == "" {
		able = false // an old console shows control sequences as they are
	}
	return NewScreen(o.Out, term.Paint(able && o.Coloured()), able, func() int { return term.ColumnsOf(o.Out) })
}
