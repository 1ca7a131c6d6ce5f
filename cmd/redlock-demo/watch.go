package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/sleep"
)

const (
	defaultWatch = time.Second
	minWatch     = 100 * time.Millisecond
	maxWatch     = time.Hour
)

// registerWatch adds --watch to a command.
func registerWatch(cmd *cobra.Command, p *time.Duration) {
	watch := cmd.Flags().VarPF(&rangeFlag{p: p, low: minWatch, high: maxWatch}, "watch", "", "repeat, by default every second; written --watch=duration")
	watch.NoOptDefVal = defaultWatch.String()
	watch.DefValue = ""
}

// checkWatch refuses a pause between looks that was taken for a key: the flag has
// its value behind "=" alone. A key of that form goes behind --.
func checkWatch(cmd *cobra.Command, every time.Duration, what string, keys []string) error {
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		keys = keys[:dash]
	}
	if every == 0 || len(keys) == 0 {
		return nil
	}
	if _, err := time.ParseDuration(keys[0]); err == nil {
		return usagef("key %q is a duration: want --watch=%[1]s %s, or -- before a key of that name", keys[0], what)
	}
	return nil
}

// watching looks once or (every > 0) until ctx ends. Of one look the code is the
// exit code.
func watching(ctx context.Context, every time.Duration, look func() (code int, err error)) error {
	for {
		code, err := look()
		switch {
		case err != nil && ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return err
		case every == 0 && code == exitOK:
			return nil
		case every == 0:
			return &codeError{code: code}
		}
		if err := sleep.For(ctx, every); err != nil {
			return err
		}
	}
}
