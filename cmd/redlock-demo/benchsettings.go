package main

import (
	"context"
	"sync"

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
	levels := []level{{o.guard, o.fleetFlags.options()}}
	if o.guard == "" {
		off := append(guardOption("off"), o.fleetFlags.options()...)
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
	ctx, cancel := context.WithTimeout(ctx, connectBound)
	defer cancel()
	markers := make([]*ask.Marker, len(urls))
	answered := make([]bool, len(urls))
	var wg sync.WaitGroup
	for i, url := range urls {
		wg.Go(func() {
			m, err := ask.Open(url, opts...)
			if err != nil {
				return // the client will say so
			}
			defer m.Close()
			if up, _ := m.Connect(ctx); up {
				markers[i], err = m.Marker(ctx)
				answered[i] = err == nil
			}
		})
	}
	wg.Wait()
	var common *ask.Marker
	for i, m := range markers {
		switch {
		case !answered[i]:
		case m == nil:
			return nil
		case common == nil:
			common = m
		case m.Level != common.Level || m.MaxTTL != common.MaxTTL || m.Masters != common.Masters:
			return nil
		}
	}
	return common
}
