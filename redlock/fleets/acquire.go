package fleets

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redquorum/redquorum/internal/fleetseam"
	"github.com/redquorum/redquorum/redlock"
)

// A way is how keys are acquired in one fleet: the sort of lock, and whether to wait.
type way func(ctx context.Context, c *redlock.Client, keys []string, once bool, opts []redlock.LockOption) (*redlock.Lock, error)

// asPlain is the way of plain locks: of one key, or of several as one.
func asPlain(ctx context.Context, c *redlock.Client, keys []string, once bool, opts []redlock.LockOption) (*redlock.Lock, error) {
	switch {
	case len(keys) > 1 && once:
		return c.TryLockAll(ctx, keys, opts...)
	case len(keys) > 1:
		return c.LockAll(ctx, keys, opts...)
	case once:
		return c.TryLock(ctx, keys[0], opts...)
	default:
		return c.Lock(ctx, keys[0], opts...)
	}
}

// An acquisition takes parts in several fleets, all or none.
type acquisition struct {
	key   string // for people
	parts []part // in the order of taking
	way   way
	opts  []redlock.LockOption
	jobs  *jobs
}

const (
	// leastPause is below what an attempt in the next fleet takes on a fast network, and
	// mostPause above it on a slow one.
	leastPause = 2 * time.Millisecond
	mostPause  = 64 * time.Millisecond
)

// acquire takes all parts. A client never waits for one fleet while it holds another:
// otherwise clients that move in different directions could wait for each other. So it
// waits for the first part, and then tries the others, in order. If one of them is held,
// it gives all parts back, waits for that one, and then tries the others again.
func (a *acquisition) acquire(ctx context.Context, once bool) (*compound, error) {
	waitFor := 0
	for failures := 0; ; {
		h, at, err := a.attempt(ctx, waitFor, once)
		if err == nil {
			return h, nil
		}
		err = inFleet(a.parts[at].path, err)
		if once || at == waitFor || !passes(ctx, err) {
			return nil, err
		}
		// Two that hold what the other is trying for would fail each other for as long as
		// they keep step. Who has met an earlier fleet in the way steps aside.
		if failures++; at < waitFor {
			a.parts[at].fleet.seam.Pause(ctx, min(leastPause<<min(failures, 8), mostPause))
		}
		waitFor = at
	}
}

// passes reports whether an attempt that failed with err may succeed later.
func passes(ctx context.Context, err error) bool {
	return ctx.Err() == nil && (errors.Is(err, redlock.ErrTaken) || errors.Is(err, redlock.ErrNoQuorum))
}

// attempt takes the part waitFor, for which it waits unless once is set, and then the
// others without waiting. If a part fails, at is its index, and the others have been given
// back.
func (a *acquisition) attempt(ctx context.Context, waitFor int, once bool) (h *compound, at int, err error) {
	held := make([]*redlock.Lock, len(a.parts)) // nil: not held
	var order []int
	fail := func(at int, err error) (*compound, int, error) {
		giveBack(ctx, held, order)
		return nil, at, err
	}
	opts := a.opts
	for _, i := range a.order(waitFor) {
		p := &a.parts[i]
		l, err := a.way(ctx, p.fleet.client, p.keys, once || i != waitFor, opts)
		if err != nil {
			return fail(i, err)
		}
		held[i], order = l, append(order, i)
		if f := l.Fence(); f != 0 && len(order) == 1 && len(a.parts) > 1 {
			// The others propose the same, so that no token has to be raised.
			opts = append(opts[:len(opts):len(opts)], fleetseam.Floor(f).(redlock.LockOption))
		}
	}
	if at, err := a.settleFence(ctx, held); err != nil {
		return fail(at, err)
	}
	for i, l := range held {
		if l.Remaining() <= 0 { // while the others were taken
			return fail(i, &endedError{a.key, context.Cause(l.Context())})
		}
	}
	return newCompound(a, held, order), 0, nil
}

// order returns the order of an attempt: first the part that is waited for, then the
// others in the order that all clients use.
func (a *acquisition) order(waitFor int) []int {
	order := []int{waitFor}
	for i := range a.parts {
		if i != waitFor {
			order = append(order, i)
		}
	}
	return order
}

// giveBack releases in the opposite order of taking. It waits for each release, at most
// for the command timeout, so that the next waiters get the keys in the same order.
func giveBack(ctx context.Context, held []*redlock.Lock, order []int) {
	for _, i := range slices.Backward(order) {
		_ = held[i].Unlock(context.WithoutCancel(ctx)) // traces and logs tell
	}
}

// settleFence raises the token of all parts to the highest of them (S8). From then on each
// fleet gives higher tokens, and a fleet that sets its keys again uses this one.
func (a *acquisition) settleFence(ctx context.Context, held []*redlock.Lock) (at int, err error) {
	if len(held) < 2 {
		return 0, nil
	}
	token, fenced, unfenced := uint64(0), -1, -1
	for i, l := range held {
		token = max(token, l.Fence())
		if fleetseam.HoldOf(l).Fenced() {
			fenced = i
		} else {
			unfenced = i
		}
	}
	if fenced >= 0 && unfenced >= 0 {
		return unfenced, fmt.Errorf("redlock: lock %q: no fencing token here, but one in %q: give redlock.WithFencing to the clients of both, or to the call", a.key, a.parts[fenced].path)
	}
	for i, l := range held {
		if l.Fence() != token {
			if err := fleetseam.HoldOf(l).Raise(ctx, token); err != nil {
				return i, err
			}
		}
	}
	return 0, nil
}

// An endedError says that the validity of a part ended before all parts were taken. It
// matches redlock.ErrNoQuorum: the lock was never held.
type endedError struct {
	key   string
	cause error
}

func (e *endedError) Error() string {
	return fmt.Sprintf("redlock: lock %q: %v: no validity is left after the other fleets were taken: %s", e.key, redlock.ErrNoQuorum, plain(e.cause))
}

func (e *endedError) Unwrap() error { return redlock.ErrNoQuorum }
