package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/bench"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

// settings are what is measured: the level that --guard names, else none and the
// one that the masters' markers name.
func (o *benchOptions) settings(cmd *cobra.Command, urls []string) ([]bench.Setting, error) {
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
		if c, ok := commonFleet(cmd.Context(), urls, poolOpts); ok {
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
