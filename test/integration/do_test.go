package integration

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

var errWork = errors.New("the work failed")

func TestDoRunsUnderTheLockAndReleasesIt(t *testing.T) {
	p := startProcesses(t, five)
	c := p.open()
	type caller struct{}
	ctx := context.WithValue(context.Background(), caller{}, "the caller's value")
	for _, result := range []error{nil, errWork} {
		err := c.Do(ctx, "lock", func(ctx context.Context) error {
			l, ok := redlock.FromContext(ctx)
			if !ok || l.Key() != "lock" || l.Remaining() <= 0 {
				t.Fatalf("FromContext: %v, %v", l, ok)
			}
			if p.holders("lock", l.Token()) < quorum {
				t.Error("the function runs without the lock")
			}
			if ctx.Value(caller{}) != "the caller's value" {
				t.Error("the caller's values do not reach the function")
			}
			_, err := c.TryLock(ctx, "lock")
			wantExactly(t, "TryLock inside of Do", err, redlock.ErrReentrant)
			return result
		})
		if !errors.Is(err, result) || result == nil && err != nil {
			t.Errorf("Do: %v, want %v", err, result)
		}
		p.wantFree("lock")
	}
}

func TestDoEndsTheContextOfItsFunctionWithTheCallers(t *testing.T) {
	p := startProcesses(t, five)
	c := p.open()
	ctx, cancel := context.WithCancelCause(context.Background())
	why := errors.New("the caller's reason")
	err := c.Do(ctx, "lock", func(inner context.Context) error {
		cancel(why)
		await(t, settleBound, "the function's context ends", inner.Done())
		if cause := context.Cause(inner); !errors.Is(cause, why) {
			t.Errorf("the cause is %v, want the caller's", cause)
		}
		if l, _ := redlock.FromContext(inner); l.Context().Err() != nil {
			t.Errorf("the caller's context ended the lock: %v", context.Cause(l.Context()))
		}
		return inner.Err()
	})
	wantExactly(t, "Do", err, context.Canceled)
	p.wantFree("lock")
}

func TestAPanicOrGoexitInDoStillUnlocks(t *testing.T) {
	p := startProcesses(t, five)
	c := p.open()
	func() {
		defer func() {
			if r := recover(); r != any(errWork) {
				t.Errorf("recovered %v, want the panic of the function", r)
			}
		}()
		_ = c.Do(context.Background(), "lock", func(context.Context) error { panic(errWork) }, redlock.WithTTL(longTTL))
		t.Error("the panic was swallowed")
	}()
	p.wantFree("lock")

	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = c.Do(context.Background(), "lock", func(context.Context) error { runtime.Goexit(); return nil }, redlock.WithTTL(longTTL))
		t.Error("Goexit was swallowed")
	}()
	await(t, settleBound, "the goroutine ends", ended)
	p.wantFree("lock")
	mustUnlock(t, mustTry(t, c, "lock"))
	p.wantFree("lock")
}

// A majority of the keys is deleted or taken while the function runs. Do says
// so, whatever the function returns and whether or not it noticed.
func TestDoSaysThatTheLockWasLost(t *testing.T) {
	for _, test := range []struct {
		name    string
		opts    []redlock.LockOption
		notices bool // the function waits for its context to end
		taken   bool // the keys are somebody else's afterwards
		result  error
	}{
		{"noticed, nil", renewedOften, true, false, nil},
		{"noticed, error", renewedOften, true, true, errWork},
		{"unnoticed, nil", []redlock.LockOption{redlock.WithLease(longTTL)}, false, false, nil},
		{"unnoticed, taken, nil", []redlock.LockOption{redlock.WithLease(longTTL)}, false, true, nil},
		{"unnoticed, error", []redlock.LockOption{redlock.WithLease(longTTL)}, false, false, errWork},
		{"expired, nil", []redlock.LockOption{redlock.WithLease(500 * time.Millisecond)}, true, false, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := startProcesses(t, five)
			c := p.open()
			err := c.Do(context.Background(), "lock", func(ctx context.Context) error {
				l, _ := redlock.FromContext(ctx)
				eventually(t, "all have the key", func() bool { return p.holders("lock", l.Token()) == five })
				// All of them, so that a renewal in between heals no majority.
				for i := range five {
					if test.taken {
						p.foreign("lock", strangersToken, i)
					} else {
						p.do(i, "DEL", "lock")
					}
				}
				if test.notices {
					await(t, settleBound, "the function's context ends", ctx.Done())
					wantExactly(t, "cause", context.Cause(ctx), redlock.ErrLost)
				}
				return test.result
			}, test.opts...)
			wantExactly(t, "Do", err, redlock.ErrLost)
			if test.result != nil && !errors.Is(err, test.result) {
				t.Errorf("Do: %v, want the function's error in it", err)
			}
			if _, ok := errors.AsType[*redlock.LostError](err); !ok {
				t.Errorf("Do: %v is no *LostError", err)
			}
			if test.taken && p.holders("lock", strangersToken) != five {
				t.Error("the stranger's keys were touched")
			}
			p.remove("lock")
		})
	}
}

// Only a failed acquisition may match ErrTaken or ErrNoQuorum: callers try
// again on those.
func TestAnErrorInsideOfDoIsNotMistakenForAFailedAcquisition(t *testing.T) {
	p := startProcesses(t, five)
	c, other := p.open(), p.open()
	taken := mustTry(t, other, "inner")
	err := c.Do(context.Background(), "outer", func(ctx context.Context) error {
		_, err := c.TryLock(ctx, "inner")
		wantExactly(t, "TryLock inside of Do", err, redlock.ErrTaken)
		return err
	})
	if err == nil || errors.Is(err, redlock.ErrTaken) || errors.Is(err, redlock.ErrNoQuorum) {
		t.Errorf("Do: %v, want the function's error without its kind", err)
	}
	if h, ok := errors.AsType[*redlock.QuorumError](err); !ok || h.Key != "inner" {
		t.Errorf("Do: %v, want the *QuorumError of the inner lock in it", err)
	}
	mustUnlock(t, taken)
	p.wantFree("inner")
	p.wantFree("outer")
}

// The work is done: that the release could not be confirmed is for the log.
func TestAReleaseThatIsNotConfirmedIsNoErrorOfDo(t *testing.T) {
	p := startPersistent(t, five)
	p.trusting = true
	c := p.open(reconnectSoon())
	err := c.Do(context.Background(), "lock", func(context.Context) error {
		p.kill(0, 1, 2)
		awaitRefused(t, c, 0, 1, 2)
		return nil
	}, redlock.WithTTL(longTTL))
	if err != nil {
		t.Errorf("Do: %v", err)
	}
	p.restart(0, 1, 2)
	p.wantFree("lock") // told when they were back
}
