package main

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

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/release"
	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/sleep"
	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/trouble"
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
			cancel(&signalError{s.(syscall.Signal)})
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
	e.place.await(ctx) // not at all where a quorum is connected
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
			if sleep.For(ctx, rand.N(splitPause)) != nil {
				return nil, err
			}
			continue
		}
		failed, ok := errors.AsType[*redlock.QuorumError](err)
		if !ok || !errors.Is(err, redlock.ErrNoQuorum) || isMisconfigured(failed) || time.Since(began) >= e.waitQuorum {
			return lock, err
		}
		e.retry(redlock.RetryInfo{Key: e.key, Err: err})
		if sleep.For(ctx, tryEvery) != nil {
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
	if failed.Nodes != nil {
		for _, cause := range failed.Nodes.Errors {
			if trouble.Lasts(cause) {
				usable--
			}
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
		return &codeError{e.busyCode, &busyError{key: e.key, fleet: e.place.of(err), wait: e.wait, err: err}}
	case errors.Is(err, redlock.ErrNoQuorum):
		return &codeError{exitNoQuorum, &noQuorumError{fleet: e.place.of(err), err: err, lasted: e.outage(), waited: !e.try}}
	default:
		return inFlags(err)
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
	text := fmt.Sprintf("lock %q is taken%s: %s", e.key, inFleet(e.fleet), heldBy(e.err))
	if errors.Is(e.err, context.DeadlineExceeded) {
		text += fmt.Sprintf(", waited %v", e.wait)
	}
	return text
}

const heldByUnknown = "held by somebody else"

// neverExpires is said of a key that locks of this library never are.
const neverExpires = "it never expires: not a lock of ours?"

// heldBy names the holder that most masters name.
func heldBy(err error) string {
	var failed *redlock.QuorumError
	if !errors.As(err, &failed) || failed.Nodes == nil {
		return heldByUnknown
	}
	type value struct{ kind, token string }
	votes := make(map[value]int)
	var most *redlock.HeldError
	for _, cause := range failed.Nodes.Errors {
		h, ok := errors.AsType[*redlock.HeldError](cause)
		if !ok || h.Type == "" { // not asked for the name
			continue
		}
		votes[value{h.Type, h.Token}]++
		if most == nil || votes[value{h.Type, h.Token}] > votes[value{most.Type, most.Token}] {
			most = h
		}
	}
	if most != nil {
		if operator, ok := release.By(most.Token); ok {
			return byOperator(operator)
		}
	}
	switch {
	case most == nil || most.Type == "none":
		return heldByUnknown
	case isStranger(most.Type, most.Readers > 0, most.TTL):
		return fmt.Sprintf("the masters have a %s under this name; choose another name", kindName(most.Type))
	case most.Type != "string":
		return most.Error()
	case most.TTL < 0:
		return neverExpires
	case most.Owner != "":
		return fmt.Sprintf("held by %q", most.Owner)
	default:
		return "held by somebody who gave no name"
	}
}

// heldVariable tells a command which locks are held around it, as a list in JSON.
const heldVariable = "REDLOCK_HELD"

// heldAround is the keys of the locks that are held around this process, the
// innermost last. What is no such list says nothing.
func heldAround(env func(string) string) (keys []string) {
	if json.Unmarshal([]byte(env(heldVariable)), &keys) != nil {
		return nil
	}
	return keys
}

// heldWithin is heldVariable for a command under one lock more.
func heldWithin(around []string, key string) string {
	text, _ := json.Marshal(append(slices.Clip(around), key)) // of strings: it cannot fail
	return heldVariable + "=" + string(text)
}

// nested reports whether an outer exec holds the lock already: this one would wait
// for its own parent. With --reentrant the command runs under that lock, in place of
// this process; the error says why it does not.
func (o *execOptions) nested(a *app, key, path string, argv []string) (bool, error) {
	if !slices.Contains(heldAround(a.env), key) {
		return false, nil
	}
	switch {
	case !o.reentrant:
		return true, usagef("an outer exec holds lock %q already, and this one would wait for its own parent: --reentrant runs the command under that lock; if this lock is on other masters, unset %s", key, heldVariable)
	case o.json:
		return true, usagef("--json: with --reentrant the command replaces exec under the outer lock, so nothing is left to report")
	case o.fence && a.env("REDLOCK_FENCE") == "":
		return true, usagef("--fence: the outer exec holds lock %q without a fencing token", key)
	}
	return true, cannotRun(argv[0], fmt.Errorf("in place of this process: %w", syscall.Exec(path, argv, os.Environ())))
}
