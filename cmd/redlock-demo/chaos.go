package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/chaos"
	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/demo"
	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

const chaosExamples = `  redlock-demo chaos                             watch, and break things by keys
  redlock-demo chaos --tour                      see every fault once
  redlock-demo chaos --spawn redis-server        the same with real masters
  redlock-demo chaos --masters redis://a,redis://b,redis://c     break yours
  redlock-demo chaos --script faults.txt --json | jq .verdict

  # faults.txt: times since the start, and what happens then
  2s   kill 1
  4s   freeze 2,3
  6s   thaw all
  8s   empty 1         # restart without its data; restart keeps it
  9s   skew 4 60s
  12s  end`

// chaosOptions are the flags of chaos.
type chaosOptions struct {
	*sharedFlags
	metricsFlag
	chaosMasters
	script, guard       string
	tour                bool
	contenders          int
	ttl, hold, duration time.Duration
}

func newChaos(a *app, shared *sharedFlags) *cobra.Command {
	o := &chaosOptions{sharedFlags: shared, contenders: chaos.DefaultContenders, ttl: chaos.DefaultTTL, hold: chaos.DefaultHold}
	cmd := &cobra.Command{
		Use:   "chaos",
		Short: "Break masters while contenders fight for a lock, and check it",
		Long: `chaos starts five masters of its own and lets contenders fight for one lock on
them. At a terminal it shows the masters, and who holds the lock for how much
longer. Keys kill, freeze, restart, empty and cut off masters, and set their
clocks wrong. Elsewhere it prints plain lines, and does what --script says, by
default the tour of all faults.

The masters are embedded in the program. With --spawn they are processes, whose
clocks cannot be set. With --masters they are yours: chaos only locks on them
and shows which of them answer and vote, and you break them by other means.
It goes on until q, a signal or --duration, and deletes its keys in the end.

All the time it checks that no two contenders hold the lock at once, and that
fencing tokens rise. What breaks the assumptions of the lock breaks the check:
set most clocks forward, or empty most masters with --guard off, and see.

Exit code: 0 when the check held, 1 when it did not, 69 when nobody ever had the
lock, 64 for a mistake in the arguments or the script, 71 when the masters cannot
be started.`,
		Example:     chaosExamples,
		Annotations: map[string]string{ownMasters: "", heeds: "config max-ttl client-skew json no-color"},
		Args:        noArguments,
		RunE:        func(cmd *cobra.Command, _ []string) error { return runChaos(cmd, a, o) },
	}
	flags := cmd.Flags()
	o.chaosMasters.register(cmd, &shared.masters)
	flags.StringVar(&o.script, "script", "", "`file` that says which faults happen when; - is the standard input")
	flags.BoolVar(&o.tour, "tour", false, "run the script that has every fault once")
	flags.Var(rangeFlag(&o.duration, chaos.MinDuration, chaos.MaxDuration), "duration", "how long to run (default until q is pressed, or the script ends)")
	flags.Lookup("duration").DefValue = ""
	flags.Var(numberFlag(&o.contenders, chaos.MinContenders, chaos.MaxContenders), "contenders", "number of contenders for the lock")
	flags.Var(rangeFlag(&o.hold, chaos.MinHold, chaos.MaxHold), "hold", "about how long each contender holds the lock")
	flags.Var(rangeFlag(&o.ttl, chaos.MinTTL, chaos.MaxTTL), "ttl", "how long the masters keep a lock after its holder stops renewing it")
	registerGuard(cmd, &o.guard)
	o.metricsFlag.register(cmd)
	_ = cmd.MarkFlagFilename("script")
	return cmd
}

func runChaos(cmd *cobra.Command, a *app, o *chaosOptions) (err error) {
	changed := cmd.Flags().Changed
	if err := o.check(cmd, o.sharedFlags); err != nil {
		return err
	}
	switch {
	case o.tour && changed("script"):
		return usagef("--tour and --script exclude each other: --tour runs a built-in script")
	case changed("ttl") && o.ttl%time.Millisecond != 0:
		return usagef("--ttl %v: want whole milliseconds, as Redis counts them", o.ttl)
	}
	live := !o.json && a.live()
	script, err := o.faults(a.in, live, !changed("spawn"))
	if err != nil {
		return err
	}
	access, err := o.access()
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	exposed, err := o.serve(context.WithoutCancel(ctx), cmd)
	if err != nil {
		return err
	}
	defer exposed.close()
	cluster, err := o.start(ctx, cmd)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := cluster.Close(); err == nil {
			err = closeErr
		}
	}()
	show := &show{app: a, json: o.json, live: live, colour: live && o.coloured(a)}
	options := chaos.Options{
		Cluster: cluster, Pool: access, TTL: o.ttl, MaxTTL: o.maxTTL, Hold: o.hold, Contenders: o.contenders, Duration: o.duration,
		Script: script, Client: o.clientOptions(), Fencing: true, Told: show.told, Crash: show.release,
		Trace: exposed.trace(),
	}
	world, err := chaos.New(options)
	if errors.Is(err, errors.ErrUnsupported) && strings.Contains(err.Error(), "WithFencing") {
		options.Fencing = false
		world, err = chaos.New(options)
	}
	if err != nil {
		return inFlags(err)
	}
	exposed.observe(world.Client())
	return show.run(ctx, world, &options)
}

// afterwards is how long a run goes on after the last fault of a script that
// does not say when it ends.
const afterwards = 3 * time.Second

// clientOptions are those of all clients, but for the longest TTL.
func (o *chaosOptions) clientOptions() []redlock.Option {
	opts := guardOption(o.guard)
	if o.skew != 0 {
		opts = append(opts, redlock.WithClientSkew(o.skew))
	}
	return opts
}

// faults is the script, nil for none. Where nobody is there to end the run, the
// script does. clocks says whether the masters' can be set.
func (o *chaosOptions) faults(in io.Reader, live, clocks bool) ([]chaos.Fault, error) {
	var text io.Reader
	switch {
	case o.given != nil:
		return nil, nil
	case o.script == "-":
		text = in
	case o.script != "":
		file, err := os.Open(o.script)
		if err != nil {
			return nil, usagef("--script: %w", err)
		}
		defer func() { _ = file.Close() }()
		text = file
	case o.tour || !live && o.duration == 0:
		text = strings.NewReader(chaos.Tour)
	default:
		return nil, nil
	}
	faults, err := chaos.Parse(text, demo.Masters)
	if err != nil {
		return nil, usagef("--script %s: %w", o.script, err)
	}
	if o.script == "" && !clocks {
		faults = withoutSkew(faults)
	}
	for i, f := range faults {
		if !clocks && f.Action == chaos.Skew {
			return nil, usagef("--script %s: fault %d: the clocks of processes are the machine's, only those of embedded masters can be set: want no skew with --spawn", o.script, i+1)
		}
	}
	if last := faults[len(faults)-1]; last.Action != chaos.End && o.duration == 0 && !live {
		faults = append(faults, chaos.Fault{At: last.At + afterwards, Action: chaos.End})
	}
	return faults, nil
}

// withoutSkew is the tour for masters whose clocks cannot be set.
func withoutSkew(faults []chaos.Fault) (kept []chaos.Fault) {
	for _, f := range faults {
		if f.Action != chaos.Skew {
			kept = append(kept, f)
		}
	}
	return kept
}

// chaosError is what the verdict means to the exit code; nil: the check held.
func chaosError(r *chaos.Result) error {
	switch r.Verdict {
	case chaos.VerdictBroken:
		return &codeError{exitFailed, fmt.Errorf("the lock was broken: %s", r.Sentence())}
	case chaos.VerdictUntested:
		return &codeError{exitNoQuorum, errors.New(r.Sentence())}
	default:
		return nil
	}
}

// chaosMasters say whose masters chaos uses. Those of somebody else are taken from
// the flag alone: nobody is to fight on them because of a variable.
type chaosMasters struct {
	accessFlags
	spawn string
	given []string // set by check; nil: its own
}

func (o *chaosMasters) register(cmd *cobra.Command, masters *[]string) {
	cmd.Flags().StringVar(&o.spawn, "spawn", "", "start real masters from this `binary`; a path, or a name such as redis-server")
	cmd.Flags().StringArrayVar(masters, "masters", nil, "comma-separated `urls` of masters that you break yourself: redis://, rediss:// or unix://")
	o.accessFlags.register(cmd)
}

// check is for after the flags are parsed.
func (o *chaosMasters) check(cmd *cobra.Command, shared *sharedFlags) (err error) {
	changed := cmd.Flags().Changed
	if !changed("masters") {
		return nil
	}
	for _, name := range []string{"spawn", "script", "tour"} {
		if changed(name) {
			return usagef("--masters and --%s exclude each other: chaos breaks masters of its own only", name)
		}
	}
	o.given, err = shared.masterURLs(true, nil)
	return err
}

// start starts the masters, or names those that run. The caller must close them.
func (o *chaosMasters) start(ctx context.Context, cmd *cobra.Command) (demo.Cluster, error) {
	switch {
	case o.given != nil:
		return demo.Given(o.given), nil
	case cmd.Flags().Changed("spawn"):
		return spawned(ctx, o.spawn, demo.Masters)
	}
	return embedded(demo.Masters)
}

// access is how masters are reached that others run. What a configuration file says
// of that is nothing to our own.
func (o *chaosMasters) access() ([]pool.Option, error) {
	if o.given == nil {
		return nil, nil
	}
	return o.pool()
}
