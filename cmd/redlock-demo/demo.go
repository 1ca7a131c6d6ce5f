package main

import (
	"context"
	"errors"
	"math/rand/v2"

	"github.com/spf13/cobra"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/demo"
)

const demoExamples = `  redlock-demo                          five masters inside the program
  redlock-demo --spawn redis-server     five real ones, started and killed
  redlock-demo --masters redis://a,redis://b:7000,rediss://user:pw@c
  redlock-demo --move                   other masters, while the lock is in use
  redlock-demo --json | jq .verdict`

// demoHeeds is the shared flags that demo heeds. Its fencing tokens are nobody else's.
const demoHeeds = "masters config ttl max-ttl json no-color"

// demoOptions are the flags of demo.
type demoOptions struct {
	*sharedFlags
	spawn         string
	move          bool
	seed          uint64
	buyers, stock int
}

func newDemoOptions(shared *sharedFlags) *demoOptions {
	return &demoOptions{sharedFlags: shared, buyers: demo.DefaultBuyers, stock: demo.DefaultStock}
}

// register adds the flags to a command that is demo.
func (o *demoOptions) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&o.spawn, "spawn", "", "start and kill five real masters of this `binary`, a path or a name such as redis-server")
	flags.BoolVar(&o.move, "move", false, "show how three masters are changed for five others while it sells, on masters of its own")
	flags.Var(&seedFlag{&o.seed}, "seed", "of the buyers' haste (default random)")
	flags.Var(&numberFlag{&o.buyers, demo.MinBuyers, demo.MaxBuyers}, "buyers", "how many buyers there are; with --move 8 by default")
	flags.Var(&numberFlag{&o.stock, demo.MinStock, demo.MaxStock}, "stock", "how many pieces there are to sell")
}

func newDemo(a *app, shared *sharedFlags) *cobra.Command {
	o := newDemoOptions(shared)
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Sell an inventory without a lock, with it, and with masters gone",
		Long: `demo sells one inventory to many buyers: first without a lock, which oversells,
then with one, which is exact. Then masters are taken away one by one while it
sells: with a minority gone it goes on, without a quorum it refuses and says
why, and it recovers by itself once a master is back.

The masters are embedded in the program unless --spawn or --masters names real
ones. Those of --masters are not stopped: at a terminal you are asked to stop
them, elsewhere that part is left out.

--move shows instead how masters are changed while it sells: from three to five
others, in the phases of docs/how-to/moving-a-fleet.md, while one of either is
killed. No update is lost, and fencing tokens rise all along.

Exit code: 0 when every expectation held, 1 when one did not, 64 for a mistake
in the arguments or where none of the masters answers, 69 where some answer but
no quorum does.`,
		Example: demoExamples,

		Annotations: map[string]string{heeds: demoHeeds},
		Args:        noArguments,
		RunE:        func(cmd *cobra.Command, _ []string) error { return runDemo(cmd, a, o) },
	}
	o.register(cmd)
	return cmd
}

// runDemo runs the demonstration and prints its result.
func runDemo(cmd *cobra.Command, a *app, o *demoOptions) (err error) {
	ctx := cmd.Context()
	if !cmd.Flags().Changed("seed") {
		o.seed = rand.Uint64N(1_000_000)
	}
	result, err := o.run(ctx, cmd, a)
	if broken, ok := errors.AsType[*demo.OutputError](err); ok {
		return &outputError{broken.Err}
	}
	if o.json && result != nil {
		if writeErr := result.WriteJSON(a.out); writeErr != nil {
			return &outputError{writeErr}
		}
	}
	if err == nil && result.Failed() > 0 {
		return &failedError{result.Failed(), len(result.Expectations)}
	}
	return err
}

// run runs it on the masters that the flags ask for.
func (o *demoOptions) run(ctx context.Context, cmd *cobra.Command, a *app) (result *demo.Result, err error) {
	options := demo.Options{
		Buyers: o.buyers, Stock: o.stock, TTL: o.ttl, MaxTTL: o.maxTTL, Seed: o.seed,
		Screen:  o.screen(a),
		Person:  !o.json && isTerminal(a.in) && isTerminal(a.out),
		Skip:    a.skip,
		Version: cmd.Root().Version,
	}
	if o.move && !cmd.Flags().Changed("buyers") {
		options.Buyers = demo.MoveBuyers
	}
	var started []demo.Cluster
	defer func() {
		for _, c := range started {
			if closeErr := c.Close(); err == nil {
				err = closeErr
			}
		}
	}()
	if !o.move {
		cluster, err := o.cluster(ctx, cmd, a)
		if err != nil {
			return nil, err
		}
		started = append(started, cluster)
		return demo.Run(ctx, cluster, options)
	}
	var sides []demo.Owner
	for _, n := range []int{demo.MoveFrom, demo.MoveTo} {
		cluster, err := o.ownMasters(ctx, cmd, n)
		if err != nil {
			return nil, err
		}
		started, sides = append(started, cluster), append(sides, cluster)
	}
	return demo.Move(ctx, sides[0], sides[1], options)
}

// ownMasters starts n masters for a move.
func (o *demoOptions) ownMasters(ctx context.Context, cmd *cobra.Command, n int) (demo.Owner, error) {
	changed := cmd.Flags().Changed
	switch {
	case changed("masters"):
		return nil, usagef("--move and --masters exclude each other: a move is shown on masters of its own, which it kills")
	case changed("stock"):
		return nil, usagef("--move and --stock exclude each other: a move goes on selling until it is over")
	case changed("spawn"):
		return spawned(ctx, o.spawn, n)
	}
	return embedded(n)
}

// cluster is the masters that the flags and the environment ask for.
func (o *demoOptions) cluster(ctx context.Context, cmd *cobra.Command, a *app) (demo.Cluster, error) {
	changed := cmd.Flags().Changed("masters")
	if cmd.Flags().Changed("spawn") {
		if changed {
			return nil, usagef("--spawn and --masters exclude each other: the one starts masters, the other names some")
		}
		return spawned(ctx, o.spawn, demo.Masters)
	}
	urls, err := o.masterURLs(changed, a.env)
	switch {
	case err != nil:
		return nil, err
	case urls != nil:
		return demo.Given(urls), nil
	}
	return embedded(demo.Masters)
}
