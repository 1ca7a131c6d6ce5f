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

// acquire waits for the lock until a signal ends the wait.
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

// lock acquires the lock. With --try it only tries; otherwise it tries once, and then waits.
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
	// Another client may set a key first, and its expiry a moment later: look twice.
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

// stuck returns an error if every waiter for the lock would wait for ever.
func (e *execution) stuck(in *redlock.Inspection) error {
	if in != nil && explain.NobodyReleases(in) {
		return app.EndsWith(app.ExitSoftware,
			fmt.Errorf("lock %q cannot be had, whoever waits: %s", e.key, explain.SentenceOf(in)))
	}
	return nil
}

// inspect returns who holds the lock; nil: it is not known.
func (e *execution) inspect(ctx context.Context) *redlock.Inspection {
	ctx, cancel := context.WithTimeout(ctx, app.ConnectBound)
	defer cancel()
	in, _ := e.client.Inspect(ctx, e.key)
	return in
}

// patience returns a context that ends when exec has waited for a holder for as long as --wait
// says. Outages do not count, because --wait-quorum bounds them.
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

// tryLock tries once. It tries again only while there is no quorum, or when an attempt failed
// although nobody holds the lock.
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

// heldByNobody reports whether no token has a quorum: clients that tried at the same time have
// split the votes, and all of them have failed.
func (e *execution) heldByNobody(ctx context.Context) bool {
	in, err := e.client.Inspect(ctx, e.key)
	return err == nil && in.Verdict != redlock.VerdictHeld && in.Verdict != redlock.VerdictUnknown
}

// isMisconfigured reports whether waiting cannot lead to a quorum, because somebody has to
// repair too many masters.
func isMisconfigured(failed *redlock.QuorumError) bool {
	usable := failed.Total
	for node := range failed.NodeErrors() {
		if explain.Lasts(node) {
			usable--
		}
	}
	return usable < failed.Need
}

// acquisitionError returns why there is no lock, with the exit code for it.
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

// A busyError says in one sentence who holds the lock, for how long it has and how long it will.
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
