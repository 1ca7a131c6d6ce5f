package integration

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

// patient is a client for which only the caller's context ends a wait.
func (m *masters) patient(opts ...redlock.Option) *redlock.Client {
	m.t.Helper()
	return m.open(append(opts, redlock.WithPool(
		pool.WithCommandTimeout(settleBound), pool.WithStallLimit(time.Minute)))...)
}

func TestUnderAContextThatIsOverNothingIsAttempted(t *testing.T) {
	p := startProcesses(t, five)
	c := p.open()
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	late, cancelLate := context.WithDeadline(context.Background(), time.Now().Add(-time.Second))
	defer cancelLate()
	for _, test := range []struct {
		ctx  context.Context
		want error
	}{{cancelled, context.Canceled}, {late, context.DeadlineExceeded}} {
		_, err := c.TryLock(test.ctx, "lock")
		wantExactly(t, "TryLock", err, test.want)
		_, err = c.Lock(test.ctx, "lock")
		wantExactly(t, "Lock", err, test.want)
		_, err = c.Adopt(test.ctx, "lock", "token")
		wantExactly(t, "Adopt", err, test.want)
		err = c.Do(test.ctx, "lock", func(context.Context) error { t.Error("Do ran its function"); return nil })
		wantExactly(t, "Do", err, test.want)
	}
	for i := range five {
		if n := p.calls(i, "set") + p.calls(i, "evalsha"); n != 0 {
			t.Errorf("master %d was asked %d times", i, n)
		}
	}
}

// The context ends while frozen masters are waited for: the caller hears of it
// at once, and what was granted by the others is rolled back, though the
// context is over.
func TestAContextThatEndsDuringTheAttemptRollsBack(t *testing.T) {
	for _, test := range []struct {
		name string
		end  func(ctx context.Context) (context.Context, context.CancelFunc)
		want error
	}{
		{"cancelled", context.WithCancel, context.Canceled},
		{"deadline", func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 300*time.Millisecond)
		}, context.DeadlineExceeded},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := startProcesses(t, five)
			p.trusting = true
			c := p.patient()
			p.freeze(0, 1, 2)
			ctx, cancel := test.end(context.Background())
			defer cancel()
			failed := make(chan error, 1)
			go func() {
				_, err := c.Lock(ctx, "lock", redlock.WithTTL(longTTL))
				failed <- err
			}()
			eventually(t, "the others have granted", func() bool { return p.value(3, "lock") != "" && p.value(4, "lock") != "" })
			if errors.Is(test.want, context.Canceled) {
				cancel()
			}
			<-ctx.Done()
			ended := time.Now()
			err := <-failed
			if took := time.Since(ended); took > time.Second {
				t.Errorf("Lock returned %v after its context ended", took)
			}
			wantExactly(t, "Lock", err, redlock.ErrNoQuorum, test.want)
			p.wantFree("lock")
			p.thaw(0, 1, 2)
			for i := range 3 {
				eventually(t, "the late SET is executed", func() bool { return p.calls(i, "set") == 1 })
			}
			p.wantFree("lock")
		})
	}
}

// The context ends in the pause between two attempts: the error says what was
// waited for, and that the context ended it.
func TestAContextThatEndsBetweenAttemptsIsInTheChain(t *testing.T) {
	for _, test := range []struct {
		name    string
		prepare func(p *processes, c *redlock.Client)
		kind    error
	}{
		{"the lock is taken", func(p *processes, _ *redlock.Client) {
			p.foreign("lock", strangersToken, 0, 1, 2, 3, 4)
		}, redlock.ErrTaken},
		{"masters are down", func(p *processes, c *redlock.Client) {
			p.kill(0, 1, 2)
			awaitRefused(p.t, c, 0, 1, 2)
		}, redlock.ErrNoQuorum},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := startProcesses(t, five)
			p.trusting = true
			pausing := make(chan redlock.RetryInfo, 1)
			c := p.open(redlock.WithTrace(&redlock.Trace{Retry: func(info redlock.RetryInfo) { pausing <- info }}),
				redlock.WithBackoff(func(int) time.Duration { return time.Hour }))
			test.prepare(p, c)

			cancelled, cancel := context.WithCancel(context.Background())
			defer cancel()
			failed := make(chan error, 1)
			go func() { _, err := c.Lock(cancelled, "lock"); failed <- err }()
			if info := <-pausing; info.Delay != time.Hour || info.Attempt != 1 {
				t.Errorf("paused for %v after attempt %d, want an hour after the first", info.Delay, info.Attempt)
			}
			cancel()
			wantExactly(t, "Lock, cancelled", <-failed, test.kind, context.Canceled)

			deadline, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
			defer cancel()
			go func() { _, err := c.Lock(deadline, "lock"); failed <- err }()
			<-pausing
			wantExactly(t, "Lock, at its deadline", <-failed, test.kind, context.DeadlineExceeded)

			// A context that lives on is in no chain.
			living, cancel := context.WithTimeout(context.Background(), time.Hour)
			defer cancel()
			_, err := c.Lock(living, "lock", redlock.WithTries(1))
			wantExactly(t, "Lock, one try", err, test.kind)
			p.remove("lock")
		})
	}
}

func TestAContextThatEndsAnExtensionEndsNothingElse(t *testing.T) {
	p := startProcesses(t, five)
	p.trusting = true
	c := p.patient()
	l := mustTry(t, c, "lock", redlock.WithLease(longTTL))
	p.freeze(0, 1, 2)
	ctx, cancel := context.WithCancel(context.Background())
	failed := make(chan error, 1)
	before := p.calls(3, "evalsha")
	go func() { failed <- l.Extend(ctx) }()
	eventually(t, "the extension is under way", func() bool { return p.calls(3, "evalsha") > before })
	cancel()
	wantExactly(t, "Extend", <-failed, redlock.ErrNoQuorum, context.Canceled)
	wantExactly(t, "Extend under a context that is over", l.Extend(ctx), context.Canceled)
	wantExactly(t, "Verify under a context that is over", l.Verify(ctx), context.Canceled)
	if l.Context().Err() != nil || l.Remaining() <= 0 {
		t.Errorf("the lock is lost: %v", context.Cause(l.Context()))
	}
	p.thaw(0, 1, 2)
	if err := l.Extend(context.Background()); err != nil {
		t.Error(err)
	}
	mustUnlock(t, l)
	p.wantFree("lock")
}
