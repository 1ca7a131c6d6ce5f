package redlock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

func TestUnderAContextThatIsOverNothingIsAttempted(t *testing.T) {
	onEach(t, 5, func(t *testing.T, f *fleet) {
		c := f.open()
		before := f.sent()
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		late, cancelLate := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
		defer cancelLate()
		for _, test := range []struct {
			ctx  context.Context
			want error
		}{{cancelled, context.Canceled}, {late, context.DeadlineExceeded}} {
			_, err := c.TryLock(test.ctx, "key")
			wantExactly(t, err, test.want)
			_, err = c.Lock(test.ctx, "key")
			wantExactly(t, err, test.want)
			_, err = c.Adopt(test.ctx, "key", "token")
			wantExactly(t, err, test.want)
			err = c.Do(test.ctx, "key", func(context.Context) error { t.Error("Do ran its function"); return nil })
			wantExactly(t, err, test.want)
		}
		f.settle()
		if n := f.sent() - before; n != 0 {
			t.Errorf("the masters were asked %d times", n)
		}
	})
}

// The context ends in the pause between two attempts: the error says what was
// waited for, and that the context ended it.
func TestAContextThatEndsBetweenAttemptsIsInTheChain(t *testing.T) {
	for _, test := range []struct {
		name    string
		prepare func(f *fleet, c *redlock.Client)
		kind    error
	}{
		{"the lock is taken", func(f *fleet, _ *redlock.Client) { f.foreign("key", f.all()...) }, redlock.ErrTaken},
		{"masters are down", func(f *fleet, c *redlock.Client) {
			f.kill(0, 1, 2)
			f.awaitDown(c, 0, 1, 2)
		}, redlock.ErrNoQuorum},
	} {
		t.Run(test.name, func(t *testing.T) {
			onEachUnguarded(t, 5, func(t *testing.T, f *fleet) {
				pausing := make(chan redlock.RetryInfo, 1)
				c := f.open(redlock.WithTrace(&redlock.Trace{Retry: func(info redlock.RetryInfo) { pausing <- info }}),
					redlock.WithBackoff(func(int) time.Duration { return time.Hour }))
				test.prepare(f, c)
				lock := func(ctx context.Context) <-chan error {
					failed := make(chan error, 1)
					go func() { _, err := c.Lock(ctx, "key"); failed <- err }()
					return failed
				}
				wantFacts := func(err error, ended error) {
					t.Helper()
					wantExactly(t, err, test.kind, ended)
					// A redis-server of a busy machine may tell too late who the holder is.
					h, ok := errors.AsType[*redlock.HeldError](err)
					if errors.Is(test.kind, redlock.ErrTaken) && (!ok || h.Token != stranger && (f.exactly || h.Type != "")) {
						t.Errorf("%v does not name the holder", err)
					}
				}
				cancelled, cancel := context.WithCancel(t.Context())
				defer cancel()
				failed := lock(cancelled)
				if info := <-pausing; info.Delay != time.Hour || info.Attempt != 1 {
					t.Errorf("paused for %v after attempt %d, want an hour after the first", info.Delay, info.Attempt)
				}
				cancel()
				wantFacts(<-failed, context.Canceled)

				deadline, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
				defer cancel()
				f.within(100*time.Millisecond, func() {
					failed := lock(deadline)
					<-pausing
					wantFacts(<-failed, context.DeadlineExceeded)
				})
				// A context that lives on is in no chain.
				living, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				_, err := c.Lock(living, "key", redlock.WithTries(1))
				wantExactly(t, err, test.kind)
				f.remove("key")
			})
		})
	}
}

func TestAContextThatEndsAnExtensionEndsNothingElse(t *testing.T) {
	onEachUnguarded(t, 5, func(t *testing.T, f *fleet) {
		c := f.patient()
		l := f.lock(c, "key", redlock.WithLease(time.Minute))
		f.freeze(0, 1, 2)
		ctx, cancel := context.WithCancel(t.Context())
		before := f.sent()
		failed := make(chan error, 1)
		go func() { failed <- l.Extend(ctx) }()
		f.eventually("the extension is under way", func() bool { return f.sent() >= before+2 })
		cancel()
		wantExactly(t, <-failed, redlock.ErrNoQuorum, context.Canceled)
		wantExactly(t, l.Extend(ctx), context.Canceled)
		wantExactly(t, l.Verify(ctx), context.Canceled)
		if l.Context().Err() != nil || l.Remaining() <= 0 {
			t.Errorf("the lock is lost: %v", context.Cause(l.Context()))
		}
		f.thaw(0, 1, 2)
		if err := l.Extend(t.Context()); err != nil {
			t.Error(err)
		}
		f.unlock(l)
		f.wantFree("key")
	})
}
