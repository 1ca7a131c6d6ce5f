package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/demo"
	"github.com/redquorum/redquorum/internal/redistest"
)

const demoExamples = `  redlock-demo                          five masters inside the program
  redlock-demo --spawn redis-server     five real masters
  redlock-demo --masters redis://a,redis://b:7000,rediss://user:pw@c
  redlock-demo --move                   replace the masters during the sale
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
	flags.StringVar(&o.spawn, "spawn", "", "start five real masters from this `binary` and kill some; a path, or a name such as redis-server")
	flags.BoolVar(&o.move, "move", false, "show how three masters are replaced by five others while the sale goes on; it starts its own masters")
	flags.Var(seedFlag(&o.seed), "seed", "seed of the buyers' random pauses (default random)")
	flags.Lookup("seed").DefValue = ""
	flags.Var(numberFlag(&o.buyers, demo.MinBuyers, demo.MaxBuyers), "buyers", "number of buyers; with --move the default is 8")
	flags.Var(numberFlag(&o.stock, demo.MinStock, demo.MaxStock), "stock", "number of pieces to sell")
}

func newDemo(a *app, shared *sharedFlags) *cobra.Command {
	o := newDemoOptions(shared)
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Sell an inventory without a lock, with it, and with masters gone",
		Long: `demo sells one inventory to many buyers. Without a lock it sells more than there
is. With a lock it sells exactly what there is. Then demo stops masters one by
one while the sale goes on. With a minority of them stopped, the sale continues.
Without a quorum the lock is refused, and demo says why. When a master is back,
the sale goes on by itself.

The masters are embedded in the program, unless --spawn or --masters names real
ones. demo does not stop the masters of --masters: at a terminal it asks you to
stop them; elsewhere it leaves that part out.

--move shows something else: how three masters are replaced by five others while
the sale goes on. It follows the phases of docs/how-to/moving-a-fleet.md, and
kills one master of each fleet. No update is lost, and fencing tokens always
rise.

Exit code: 0 when every expectation held, 1 when one did not; 64 for a mistake
in the arguments, or when no master answers; 69 when some masters answer, but
not a quorum.`,
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
		return nil, usagef("--move and --masters exclude each other: --move starts its own masters, and kills some")
	case changed("stock"):
		return nil, usagef("--move and --stock exclude each other: with --move the sale lasts as long as the move")
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
			return nil, usagef("--spawn and --masters exclude each other: --spawn starts masters, --masters names existing ones")
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

// embedded starts n masters in this process.
func embedded(n int) (demo.Breaker, error) {
	cluster, err := demo.Embedded(n)
	if err != nil {
		return nil, &startError{err}
	}
	return cluster, nil
}

// spawned starts n masters of the binary that --spawn names. Package redistest is
// told of it as of any other choice of the binary: by the environment.
func spawned(ctx context.Context, binary string, n int) (demo.Breaker, error) {
	if strings.TrimSpace(binary) == "" {
		return nil, usagef("--spawn names no binary: want a path or a name such as redis-server")
	}
	if _, err := exec.LookPath(binary); err != nil {
		return nil, usagef("--spawn: %w", err)
	}
	if err := os.Setenv(redistest.ServerVariable, binary); err != nil {
		return nil, usagef("--spawn %q: %w", binary, err)
	}
	if err := redistest.Available(); err != nil {
		return nil, usagef("--spawn: %s is no redis-server: %s", binary, oneLine(err))
	}
	cluster, err := demo.Spawn(ctx, n)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, &startError{err}
	}
	return cluster, nil
}

// oneLine is an error of package redistest without the output of the binary
// that it may quote.
func oneLine(err error) string {
	text := strings.TrimPrefix(err.Error(), "redistest: ")
	text, _, _ = strings.Cut(text, " in its output ")
	text, _, _ = strings.Cut(text, "\n")
	return text
}
