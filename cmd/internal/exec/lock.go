package exec

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/say"
	"github.com/redquorum/redquorum/redlock"
	"github.com/redquorum/redquorum/redlock/fleets"
)

// acquire waits for the lock, until one of the signals ends that.
func (e *execution) acquire(ctx context.Context, signals <-chan os.Signal) (fleets.Hold, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case s := <-signals:
			cancel(&app.SignalError{Signal: s.(syscall.Signal)})
		case <-done:
		}
	}()
	lock, err := e.lock(ctx)
	close(done)
	<-ended
	defer cancel(nil)
	if ctx.Err() != nil { // also where the lock was acquired at the same time
		if err == nil {
			_ = lock.Unlock(context.WithoutCancel(ctx))
		}
		return nil, context.Cause(ctx)
	}
	return lock, e.acquisitionError(err)
}

// lock acquires. The first attempt does not wait for connections, so that it goes out with
// the handshakes. Nobody is told of its failure: if it found too few masters connected, they
// get the time that they need.
func (e *execution) lock(ctx context.Context) (fleets.Hold, error) {
	if !e.try && e.wait > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, e.wait)
		defer cancel()
	}
	if !e.place.moving {
		lock, err := e.place.locker.TryLock(ctx, e.key)
		switch {
		case err == nil:
			return lock, nil
		case e.try && !errors.Is(err, redlock.ErrNoQuorum):
			return e.tryLock(ctx, err)
		}
	}
	e.place.await(ctx, e.began) // not at all where a quorum is connected
	if e.try {
		return e.tryLock(ctx, nil)
	}
	return e.place.locker.Lock(ctx, e.key)
}

// tryLock tries once, and again only while no quorum can be had, or where the attempt has
// failed although nobody holds the lock. err is the failure of a first attempt; nil: there
// was none.
func (e *execution) tryLock(ctx context.Context, err error) (lock fleets.Hold, _ error) {
	for began, splits := time.Now(), 0; ; err = nil {
		if err == nil {
			lock, err = e.place.locker.TryLock(ctx, e.key)
		}
		if errors.Is(err, redlock.ErrTaken) && splits < mostSplits && e.heldByNobody(ctx) {
			splits++
			e.retry(redlock.RetryInfo{Key: e.key, Err: err})
			if app.Sleep(ctx, rand.N(splitPause)) != nil {
				return nil, err
			}
			continue
		}
		failed, ok := errors.AsType[*redlock.QuorumError](err)
		if !ok || !errors.Is(err, redlock.ErrNoQuorum) || isMisconfigured(failed) || time.Since(began) >= e.waitQuorum {
			return lock, err
		}
		e.retry(redlock.RetryInfo{Key: e.key, Err: err})
		if app.Sleep(ctx, tryEvery) != nil {
			return nil, err
		}
	}
}

// heldByNobody reports whether no token has a quorum: callers that asked in the same
// instant have split the votes, and all of them have failed.
func (e *execution) heldByNobody(ctx context.Context) bool {
	return !e.place.any(func(c *redlock.Client) bool {
		in, err := c.Inspect(ctx, e.key)
		return err != nil || in.Verdict == redlock.VerdictHeld || in.Verdict == redlock.VerdictUnknown
	})
}

// isMisconfigured reports whether so many masters need somebody to mend something that
// no waiting leads to a quorum.
func isMisconfigured(failed *redlock.QuorumError) bool {
	usable := failed.Total
	for node := range failed.NodeErrors() {
		if say.Lasts(node) {
			usable--
		}
	}
	return usable < failed.Need
}

// acquisitionError is why there is no lock, with the exit code for it.
func (e *execution) acquisitionError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, redlock.ErrTaken):
		return app.EndsWith(e.busyCode, &busyError{key: e.key, fleet: e.place.of(err), wait: e.wait, err: err})
	case errors.Is(err, redlock.ErrNoQuorum):
		return app.EndsWith(app.ExitNoQuorum, &say.NoQuorumError{Fleet: e.place.of(err), Err: err, Lasted: e.outage(), Waited: !e.try})
	default:
		return app.InFlags(err)
	}
}

// A busyError says who holds the lock, in one sentence for all masters.
type busyError struct {
	key   string
	fleet string // "": there is one
	wait  time.Duration
	err   error
}

func (e *busyError) Unwrap() error { return e.err }

func (e *busyError) Error() string {
	text := fmt.Sprintf("lock %q is taken%s: %s", e.key, say.InFleet(e.fleet), say.HeldBy(e.err))
	if errors.Is(e.err, context.DeadlineExceeded) {
		text += fmt.Sprintf(", waited %v", e.wait)
	}
	return text
}

// HeldVariable tells a command which locks are held around it, as a list in JSON.
const HeldVariable = "REDLOCK_HELD"

// heldAround is the keys of the locks that are held around this process, the
// innermost last. What is no such list says nothing.
func heldAround(env func(string) string) (keys []string) {
	if json.Unmarshal([]byte(env(HeldVariable)), &keys) != nil {
		return nil
	}
	return keys
}

// heldWithin is heldVariable for a command under one lock more.
func heldWithin(around []string, key string) string {
	text, _ := json.Marshal(append(slices.Clip(around), key)) // of strings: it cannot fail
	return HeldVariable + "=" + string(text)
}

// nested reports whether an outer exec holds the lock already: this one would wait
// for its own parent. With --reentrant the command runs under that lock, in place of
// this process; the error says why it does not.
func (o *execOptions) nested(a *app.App, key, path string, argv []string) (bool, error) {
	if !slices.Contains(heldAround(a.Env), key) {
		return false, nil
	}
	switch {
	case !o.reentrant:
		return true, app.Usagef("an outer exec holds lock %q already, and this one would wait for its own parent: --reentrant runs the command under that lock; if this lock is on other masters, unset %s", key, HeldVariable)
	case o.json:
		return true, app.Usagef("--json: with --reentrant the command replaces exec under the outer lock, so nothing is left to report")
	case o.fence && a.Env("REDLOCK_FENCE") == "":
		return true, app.Usagef("--fence: the outer exec holds lock %q without a fencing token", key)
	}
	return true, cannotRun(argv[0], fmt.Errorf("in place of this process: %w", syscall.Exec(path, argv, os.Environ())))
}
