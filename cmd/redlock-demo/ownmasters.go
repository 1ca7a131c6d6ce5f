package main

import (
	"context"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/container"
	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/demo"
)

// ownMastersFlags say of what kind the masters are that chaos starts.
type ownMastersFlags struct {
	spawn      string
	containers bool
	image      string
	spawns     bool // --spawn was given; set by check
}

func (o *ownMastersFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&o.spawn, "spawn", "", "start real masters of this `binary`, a path or a name such as redis-server")
	flags.BoolVar(&o.containers, "containers", false, "start real masters in containers, by the docker command")
	flags.StringVar(&o.image, "image", "", "`name` of the image of Redis for --containers (default $"+container.ImageVariable+", else "+container.OfficialImage+")")
}

// check is for after the flags are parsed.
func (o *ownMastersFlags) check(cmd *cobra.Command) error {
	changed := cmd.Flags().Changed
	o.spawns = changed("spawn")
	switch {
	case o.spawns && o.containers:
		return usagef("--spawn and --containers exclude each other: the one starts processes, the other containers")
	case changed("image") && !o.containers:
		return usagef("--image is of use with --containers alone")
	case changed("image") && !isImageName(o.image):
		return usagef("--image %q: want the name of an image, such as %s", o.image, container.OfficialImage)
	}
	return nil
}

// isImageName keeps away what docker would take for a flag, or not for one word.
func isImageName(s string) bool {
	return s != "" && s[0] != '-' && strings.IndexFunc(s, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }) < 0
}

// embedded reports whether the masters are in this process.
func (o *ownMastersFlags) embedded() bool { return !o.spawns && !o.containers }

// start starts the masters. The caller must close them.
func (o *ownMastersFlags) start(ctx context.Context, a *app) (demo.Breaker, error) {
	switch {
	case o.spawns:
		return spawned(ctx, o.spawn)
	case o.containers:
		return o.contained(ctx, a)
	}
	cluster, err := demo.Embedded(demo.Masters)
	if err != nil {
		return nil, &startError{err}
	}
	return cluster, nil
}

// contained starts masters in containers.
func (o *ownMastersFlags) contained(ctx context.Context, a *app) (demo.Breaker, error) {
	image := o.image
	if image == "" {
		image = a.env(container.ImageVariable)
		if image != "" && !isImageName(image) {
			return nil, usagef("%s=%q: want the name of an image, such as %s", container.ImageVariable, image, container.OfficialImage)
		}
	}
	if image == "" {
		image = container.OfficialImage
	}
	engine, err := container.Find(ctx, image)
	if err == nil {
		var cluster demo.Breaker
		if cluster, err = engine.Start(ctx, demo.Masters, sweeperCommand); err == nil {
			return cluster, nil
		}
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return nil, &startError{err}
}

// sweeperCommand is the command of the process that removes containers when ours
// cannot.
const sweeperCommand = "sweeper"

func newSweeper() *cobra.Command {
	return &cobra.Command{
		Use: sweeperCommand + " RUN", Hidden: true, Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return container.Sweep(args[0]) },
	}
}
