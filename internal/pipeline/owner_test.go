package pipeline

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redquorum/redquorum/internal/testutil"
)

// A waiter owns one call and checks what the pipeline promises every owner:
// Complete comes exactly once, Delayed never after it.
type waiter struct {
	t         *testing.T
	call      *Call
	done      chan struct{} // closed by Complete
	completed atomic.Int32
	delayed   atomic.Int32
	unwanted  atomic.Bool
	onDone    func(*Call)      // called by Complete, if set
	onAsked   func()           // called by Abandoned, if set
	onDelayed func()           // called by Delayed, if set
	resends   func(*Call) bool // called by Complete, if set; true: the call was queued again
}

func newWaiter(t *testing.T, cmd string, args ...any) *waiter {
	t.Helper()
	w := &waiter{t: t, done: make(chan struct{})}
	w.call = &Call{Command: &Command{Cmd: cmd, Encoded: AppendCommand(nil, cmd, args...), Owner: w}}
	return w
}

func (w *waiter) Abandoned(c *Call) bool {
	if c != w.call {
		w.t.Error("Abandoned is asked about a stranger's call")
	}
	if w.onAsked != nil {
		w.onAsked()
	}
	return w.unwanted.Load()
}

func (w *waiter) Delayed(c *Call, cause error) {
	w.delayed.Add(1)
	if c != w.call || cause == nil || w.completed.Load() != 0 {
		w.t.Errorf("Delayed(%p, %v) after %d completions, call is %p", c, cause, w.completed.Load(), w.call)
	}
	if w.onDelayed != nil {
		w.onDelayed()
	}
}

func (w *waiter) Complete(c *Call) {
	if w.resends != nil && w.resends(c) {
		return
	}
	if n := w.completed.Add(1); n != 1 || c != w.call {
		w.t.Errorf("completion %d of %s %q", n, c.Cmd, c.Encoded)
		return
	}
	if w.onDone != nil {
		w.onDone(c)
	}
	close(w.done)
}

// queue hands the call to the pipeline.
func (w *waiter) queue(p *Pipeline) *waiter {
	p.Enqueue(w.call)
	return w
}

// wait returns the call once it is complete.
func (w *waiter) wait() *Call {
	w.t.Helper()
	testutil.Await(w.t, bound, w.call.Cmd+" is completed", w.done)
	return w.call
}

// mustSucceed waits for calls that must get a reply on this connection.
func mustSucceed(t *testing.T, epoch uint64, calls ...*waiter) {
	t.Helper()
	for i, w := range calls {
		if c := w.wait(); c.Err != nil || !c.Sent || c.Epoch != epoch {
			t.Fatalf("call %d, %s: error %v, sent %t, on connection %d, want %d", i, c.Cmd, c.Err, c.Sent, c.Epoch, epoch)
		}
	}
}

// mustFail waits for calls that must fail with this error.
func mustFail(t *testing.T, want error, calls ...*waiter) {
	t.Helper()
	for i, w := range calls {
		if c := w.wait(); !errors.Is(c.Err, want) || c.Reply != nil {
			t.Errorf("call %d, %s: reply %v, error %v, want %v", i, c.Cmd, c.Reply, c.Err, want)
		}
	}
}

// pending reports whether the call is still the pipeline's.
func (w *waiter) pending() bool {
	select {
	case <-w.done:
		return false
	default:
		return true
	}
}

// start queues a command.
func start(t *testing.T, p *Pipeline, cmd string, args ...any) *waiter {
	t.Helper()
	return newWaiter(t, cmd, args...).queue(p)
}

// startKept queues a command that is kept for this long.
func startKept(t *testing.T, p *Pipeline, keep time.Duration, cmd string, args ...any) *waiter {
	t.Helper()
	w := newWaiter(t, cmd, args...)
	w.call.RetryUntil = time.Now().Add(keep)
	return w.queue(p)
}

// do queues a command and waits for it.
func do(t *testing.T, p *Pipeline, cmd string, args ...any) *Call {
	t.Helper()
	return start(t, p, cmd, args...).wait()
}

// mustAnswer sends a command that has to get this reply, and waits for it.
func mustAnswer(t *testing.T, p *Pipeline, want any, cmd string, args ...any) *Call {
	t.Helper()
	c := do(t, p, cmd, args...)
	if c.Err != nil || c.Reply != want {
		t.Fatalf("%s %v: reply %v, error %v; want %v", cmd, args, c.Reply, c.Err, want)
	}
	return c
}
