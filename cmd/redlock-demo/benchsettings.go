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
