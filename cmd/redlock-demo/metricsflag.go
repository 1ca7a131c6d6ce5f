package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	served "github.com/redquorum/redquorum/cmd/redlock-demo/internal/metrics"
	"github.com/redquorum/redquorum/redlock"
	"github.com/redquorum/redquorum/redlock/metrics"
)

// metricsFlag is where metrics are served while a command runs.
type metricsFlag struct{ metricsAddr string }

func (f *metricsFlag) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.metricsAddr, "metrics", "", "`address` (host:port or :port) where Prometheus finds /metrics while the command runs")
}

// serve starts to serve metrics, if that is wanted: else the exposition is nil,
// which does nothing. The caller must close it. ctx ends it too.
func (f *metricsFlag) serve(ctx context.Context, cmd *cobra.Command) (*exposition, error) {
	if !cmd.Flags().Changed("metrics") {
		return nil, nil
	}
	e := &exposition{recorder: metrics.New()}
	var err error
	e.server, err = served.Serve(ctx, f.metricsAddr, e.recorder)
	switch {
	case errors.As(err, new(*served.AddressError)):
		return nil, usagef("--metrics %w", err)
	case err != nil:
		return nil, &codeError{exitOS, fmt.Errorf("--metrics: %w", err)}
	}
	return e, nil
}

// An exposition is the metrics of one client, being served.
type exposition struct {
	recorder *metrics.Recorder
	server   *served.Server
}

// trace is what the client is to be given; nil: nothing.
func (e *exposition) trace() *redlock.Trace {
	if e == nil {
		return nil
	}
	return e.recorder.Trace()
}

// observe shows the client's masters as well.
func (e *exposition) observe(c *redlock.Client) {
	if e != nil {
		e.recorder.Observe(c)
	}
}

func (e *exposition) close() {
	if e != nil {
		e.server.Close()
	}
}
