package fleets

import (
	"context"
	"errors"
	"slices"

	"github.com/redquorum/redquorum/internal/fleetseam"
	"github.com/redquorum/redquorum/redlock"
)

// doIn runs Do of a Locker. It adds the fleet's path to errors of the lock, but not to
// errors that fn returned.
func doIn(ctx context.Context, path string, l Locker, key string, fn func(ctx context.Context) error, opts []redlock.LockOption) error {
	if fn == nil {
		return badError("do %q: the function is nil", key)
	}
	ran, own := false, error(nil)
	err := l.Do(ctx, key, func(ctx context.Context) error {
		ran = true
		own = fn(ctx)
		return own
	}, opts...)
	if ran {
		return lossIn(path, err, own)
	}
	return inFleet(path, err)
}

// lossIn adds the fleet's path to an error that says that the lock was lost while a
// function ran. own is the function's own error.
func lossIn(path string, err, own error) error {
	if !errors.Is(err, redlock.ErrLost) || errors.Is(own, redlock.ErrLost) {
		return err
	}
	return inFleet(path, err)
}

// do runs fn under the hold and releases it, as redlock.Client.Do does. The Close of every
// fleet's client waits for it.
func (h *compound) do(caller context.Context, fn func(ctx context.Context) error) error {
	var own error
	run := func(values context.Context) error {
		ctx, let := h.bind(caller, values)
		defer let()
		defer h.end(redlock.ErrUnlocked) // before the first fleet is left
		own = fn(ctx)
		return own
	}
	for _, i := range slices.Backward(h.order) { // the last taken is the first to be unlocked
		inner, l := run, fleetseam.HoldOf(h.held[i])
		run = func(ctx context.Context) error { return l.Run(ctx, inner) }
	}
	// Deferred, so that it happens on a panic and on Goexit as well.
	defer func() {
		h.end(redlock.ErrUnlocked)
		h.awaitGone()
		h.ctx.release()
	}()
	err := run(caller)
	if lost, ok := errors.AsType[*FleetError](context.Cause(h.ctx)); ok {
		return lossIn(lost.Fleet, err, own)
	}
	return err
}

// A doer is a hold of this package.
type doer interface {
	// do runs fn under the hold and unlocks.
	do(caller context.Context, fn func(ctx context.Context) error) error
}

// do implements doer.
func (h shardHold) do(caller context.Context, fn func(ctx context.Context) error) error {
	seam, own := fleetseam.HoldOf(h.Lock), error(nil)
	err := seam.Run(caller, func(ctx context.Context) error {
		own = fn(ctx)
		return own
	})
	return lossIn(seam.Name(), err, own)
}
