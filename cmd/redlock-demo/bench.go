package main

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/bench"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
	"github.com/redquorum/redquorum/redlock/fleets"
)

const benchExamples = `  redlock-demo bench --masters redis://a,redis://b,redis://c
  redlock-demo bench --goroutines 256 --duration 30s
  redlock-demo bench --goroutines 64 --keys 1       # all want the same lock
  redlock-demo bench --guard standard --max-ttl 1m --fence=no
  redlock-demo bench --json | jq '.rows[].pairs_per_second'`

// benchOptions are the flags of bench.
type benchOptions struct {
	*sharedFlags
	accessFlags
	guard            string
	goroutines, keys int
	duration, ttl    time.Duration
	fence            string
}

func newBench(a *app, shared *sharedFlags) *cobra.Command {
	o := &benchOptions{sharedFlags: shared, goroutines: bench.DefaultGoroutines, duration: bench.DefaultDuration, ttl: bench.DefaultTTL, fence: "both"}
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure what locking costs on the masters",
		Long: `bench locks and unlocks as fast as it can, from several goroutines of one client,
and prints how many pairs a second the masters give and how long the calls take.
It measures without a guard and, where the masters carry the marker of a fleet,
with the guard that it names, each without and with fencing tokens.

With several fleets (--masters NAME=url,url,... for each) it locks each key in
the fleet to which it belongs by the fleets' names. The first line says how many
fleets there are.

The masters feel the load: do not run it where others need them. Its keys begin
with redlock-demo:bench: and are removed in the end, whatever ends it. Where
that is not possible it says so, and they expire by themselves. It declares no
fleet, except with --guard, where the library would.

Exit code: 0 when something was measured, 69 when no quorum can be had, 64 for
a mistake in the arguments.`,
		Example: benchExamples,

		Annotations: map[string]string{several: "", heeds: "masters config max-ttl client-skew json"},
		Args:        noArguments,
		RunE:        func(cmd *cobra.Command, _ []string) error { return runBench(cmd, a, o) },
	}
	flags := cmd.Flags()
	flags.Var(numberFlag(&o.goroutines, bench.MinGoroutines, bench.MaxGoroutines), "goroutines", "number of goroutines that lock and unlock at the same time")
	flags.Var(rangeFlag(&o.duration, bench.MinDuration, bench.MaxDuration), "duration", "how long each row is measured")
	flags.Var(numberFlag(&o.keys, 0, bench.MaxKeys), "keys", "number of locks that the goroutines share; 0: one each, so nobody waits")
	flags.Var(rangeFlag(&o.ttl, bench.MinTTL, bench.MaxTTL), "ttl", "TTL of the locks")
	registerChoice(cmd, "fence", "choice", &o.fence, []string{"yes", "no", "both"}, "measure with fencing tokens: yes, no or both")
	registerGuard(cmd, &o.guard)
	o.accessFlags.register(cmd)
	return cmd
}

func runBench(cmd *cobra.Command, a *app, o *benchOptions) error {
	list, err := o.namedFleets(cmd, a)
	if err != nil {
		return err
	}
	poolOpts, err := o.pool()
	if err != nil {
		return err
	}
	v := &benchView{out: a.out, live: !o.json && a.live()}
	options := bench.Options{
		Pool: poolOpts, Goroutines: o.goroutines, Keys: o.keys, Duration: o.duration, TTL: o.ttl,
		Progress: v.progress,
	}
	for _, f := range list {
		options.Fleets = append(options.Fleets, bench.Fleet{Name: f.name, URLs: f.urls})
	}
	if options.Settings, err = o.settings(cmd, list); err != nil {
		return err
	}
	result, err := bench.Run(cmd.Context(), options)
	v.done()
	if result == nil {
		return inFlags(err)
	}
	if o.json {
		err = cmp.Or(writeJSON(a.out, result), err)
	} else {
		err = cmp.Or(v.print(result, o.duration), err)
	}
	if errors.Is(err, redlock.ErrNoQuorum) {
		none := &noQuorumError{err: err}
		if in, ok := errors.AsType[*fleets.FleetError](err); ok {
			none.fleet = in.Fleet
		}
		return &codeError{exitNoQuorum, none}
	}
	return err
}

// settings are what is measured: the level that --guard names, else none and the
// one that the masters' markers name, in all fleets the same.
func (o *benchOptions) settings(cmd *cobra.Command, list []fleet) ([]bench.Setting, error) {
	poolOpts, err := o.pool()
	if err != nil {
		return nil, err
	}
	type level struct {
		name string
		opts []redlock.Option
	}
	levels := []level{{o.guard, o.fleetOptions(o.guard)}}
	if o.guard == "" {
		off := o.fleetOptions("off")
		levels = []level{{"off", off}}
		if c, ok := commonSettings(cmd.Context(), list, poolOpts); ok {
			name := c.Level.String()
			levels = append(levels, level{name, append(guardOption(name), redlock.WithMaxTTL(c.MaxTTL))})
		}
	}
	var settings []bench.Setting
	for _, l := range levels {
		for _, fencing := range []bool{false, true} {
			if o.fence == "both" || fencing == (o.fence == "yes") {
				settings = append(settings, bench.Setting{Guard: l.name, Fencing: fencing, Options: l.opts})
			}
		}
	}
	return settings, nil
}

// commonSettings are those of the markers of all fleets, but for how many masters each has;
// false: they do not name the same.
func commonSettings(ctx context.Context, list []fleet, opts []pool.Option) (common guard.Config, ok bool) {
	for i, f := range list {
		c, known := commonFleet(ctx, f.urls, opts)
		c.Masters = 0
		if !known || i > 0 && c != common {
			return guard.Config{}, false
		}
		common = c
	}
	return common, true
}

// commonFleet is the one that all masters which answer name; false: they do not.
func commonFleet(ctx context.Context, urls []string, opts []pool.Option) (common guard.Config, ok bool) {
	for _, m := range readMarkers(ctx, urls, opts) {
		if m.err != nil {
			continue
		}
		if m.marker == nil {
			return guard.Config{}, false
		}
		c, known := m.marker.Fleet()
		if !known || ok && c != common {
			return guard.Config{}, false
		}
		common, ok = c, true
	}
	return common, ok
}
