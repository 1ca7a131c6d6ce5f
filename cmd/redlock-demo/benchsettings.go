package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/ask"
	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/bench"
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
		if m := commonMarker(cmd.Context(), urls, poolOpts); m != nil {
			if _, known := guardLevels[m.Level]; known {
				levels = append(levels, level{m.Level, append(guardOption(m.Level), redlock.WithMaxTTL(m.MaxTTL))})
			}
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

// commonMarker is the marker that all masters which answer agree on; nil where
// there is none.
func commonMarker(ctx context.Context, urls []string, opts []pool.Option) *ask.Marker {
	var common *ask.Marker
	for _, m := range readMarkers(ctx, urls, opts) {
		switch {
		case m.err != nil:
		case m.marker == nil:
			return nil
		case common == nil:
			common = m.marker
		case !m.marker.SameFleet(common):
			return nil
		}
	}
	return common
}
