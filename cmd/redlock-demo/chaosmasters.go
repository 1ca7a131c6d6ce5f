package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/demo"
	"github.com/redquorum/redquorum/pool"
)

// chaosMasters say whose masters chaos uses. Those of somebody else are taken from
// the flag alone: nobody is to fight on them because of a variable.
type chaosMasters struct {
	accessFlags
	spawn string
	given []string // set by check; nil: its own
}

func (o *chaosMasters) register(cmd *cobra.Command, masters *[]string) {
	cmd.Flags().StringVar(&o.spawn, "spawn", "", "start real masters from this `binary`; a path, or a name such as redis-server")
	cmd.Flags().Var(&listsFlag{masters}, "masters", "comma-separated `urls` of masters that you break yourself: redis://, rediss:// or unix://")
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
