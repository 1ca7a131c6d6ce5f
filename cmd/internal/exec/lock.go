package exec

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/explain"
	"github.com/redquorum/redquorum/redlock"
)

// acquire waits for the lock, until a signal ends that.
func (e *execution) acquire(ctx context.Context) (*redlock.Lock, error) {
	lock, err := e.lock(ctx)
	if ctx.Err() != nil { // also where the lock was acquired at the same time
		if err == nil {
			_ = lock.Unlock(context.WithoutCancel(ctx))
		}
		return nil, context.Cause(ctx)
	}
	return lock, e.acquisitionError(ctx, err)
}

// lock acquires, by masters of which is known whether a quorum is connected.
func (e *execution) lock(ctx context.Context) (*redlock.Lock, error) {
	ctx, e.giveUp = context.WithCancelCause(ctx)
	defer e.giveUp(nil)
	if e.try {
		return e.tryLock(ctx)
	}
	if e.wait > 0 {
		var stop func()
		ctx, stop = e.patience(ctx)
		defer stop()
	}
	lock, err := e.client.TryLock(ctx, e.key)
	if err == nil {
		return lock, nil
	}
	// A client that makes a key expire only after it has made it gets the time for that.
	if e.stuck(e.inspect(ctx)) != nil && app.Sleep(ctx, tryEvery) == nil {
		if err := e.stuck(e.inspect(ctx)); err != nil {
			return nil, err
		}
	}
	if ctx.Err() != nil && errors.Is(err, redlock.ErrTaken) { // --wait was over before the waiting began
		return nil, err
	}
	lock, err = e.client.Lock(ctx, e.key)
	if why := context.Cause(ctx); err != nil && errors.Is(why, redlock.ErrNoQuorum) {
		err = why
	}
	return lock, err
}

// stuck is an error where whoever waits for the lock waits for ever.
func (e *execution) stuck(in *redlock.Inspection) error {
	if in != nil && explain.NobodyReleases(in) {
		return app.EndsWith(app.ExitSoftware,
			fmt.Errorf("lock %q cannot be had, whoever waits: %s", e.key, explain.SentenceOf(in)))
	}
	return nil
}

// inspect is who holds the lock; nil: that is not known.
func (e *execution) inspect(ctx context.Context) *redlock.Inspection {
	ctx, cancel := context.WithTimeout(ctx, app.ConnectBound)
	defer cancel()
	in, _ := e.client.Inspect(ctx, e.key)
	return in
}

// patience is a context that ends when a holder has been waited for as long as --wait says. Outages do not count: those
// --wait-quorum bounds.
func (e *execution) patience(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	began, ended := time.Now(), make(chan struct{})
	go func() { // stop waits for it
		defer close(ended)
		for left := e.wait; left > 0; left = e.wait - time.Since(began) + e.inOutages() {
			if app.Sleep(ctx, left) != nil {
				return
			}
		}
		e.outwaited = true
		cancel(context.DeadlineExceeded)
	}()
	return ctx, func() {
		cancel(nil)
		<-ended
	}
}

// tryLock tries once, and again only while no quorum can be had, or where the attempt has
// failed although nobody holds the lock.
func (e *execution) tryLock(ctx context.Context) (*redlock.Lock, error) {
	for began, splits := time.Now(), 0; ; {
		lock, err := e.client.TryLock(ctx, e.key)
		if errors.Is(err, redlock.ErrTaken) && splits < mostSplits && e.heldByNobody(ctx) {
			splits++
			e.retry(redlock.AttemptInfo{Key: e.key, Err: err})
			if app.Sleep(ctx, rand.N(splitPause)) != nil {
				return nil, err
			}
			continue
		}
		failed, ok := errors.AsType[*redlock.QuorumError](err)
		if !ok || !errors.Is(err, redlock.ErrNoQuorum) || isMisconfigured(failed) || time.Since(began) >= e.waitQuorum {
			return lock, err
		}
		e.retry(redlock.AttemptInfo{Key: e.key, Err: err})
		if app.Sleep(ctx, tryEvery) != nil {
			return nil, err
		}
	}
}

// heldByNobody reports whether no token has a quorum: callers that asked in the same
// instant have split the votes, and all of them have failed.
func (e *execution) heldByNobody(ctx context.Context) bool {
	in, err := e.client.Inspect(ctx, e.key)
	return err == nil && in.Verdict != redlock.VerdictHeld && in.Verdict != redlock.VerdictUnknown
}

// isMisconfigured reports whether so many masters need somebody to mend something that
// no waiting leads to a quorum.
func isMisconfigured(failed *redlock.QuorumError) bool {
	usable := failed.Total
	for node := range failed.NodeErrors() {
		if explain.Lasts(node) {
			usable--
		}
	}
	return usable < failed.Need
}

// acquisitionError is why there is no lock, with the exit code for it.
func (e *execution) acquisitionError(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.As(err, new(*app.CodeError)):
		return err
	case errors.Is(err, redlock.ErrTaken):
		in := e.inspect(ctx)
		return cmp.Or(e.stuck(in), app.EndsWith(e.busyCode, &busyError{execution: e, in: in, err: err}))
	case errors.Is(err, redlock.ErrNoQuorum):
		return app.EndsWith(app.ExitNoQuorum, &explain.NoQuorumError{Err: err, Lasted: e.outage(), Waited: !e.try})
	default:
		return app.InFlags(err)
	}
}

// A busyError says who holds the lock, in one sentence for all masters, and for how long he has and will.
type busyError struct {
	*execution
	in  *redlock.Inspection // nil: not known
	err error
}

func (e *busyError) Unwrap() error { return e.err }

func (e *busyError) Error() string {
	by := explain.HeldBy(e.err)
	if e.in != nil && e.in.Verdict == redlock.VerdictHeld {
		by = explain.SentenceOf(e.in)
	}
	text := fmt.Sprintf("lock %q is taken: %s", e.key, by)
	if e.outwaited {
		text += fmt.Sprintf(", waited %v", e.wait)
	}
	return text
}
