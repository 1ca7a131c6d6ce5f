package hold

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/wire"
)

// A fakeClock is Go's clock. It counts readings, and can pause once after a reading.
type fakeClock struct {
	readings, pause atomic.Int64
}

func (c *fakeClock) Now() drift.Instant {
	c.readings.Add(1)
	now := time.Now()
	time.Sleep(time.Duration(c.pause.Swap(0)))
	return drift.AtWithoutBoot(now.Sub(time.Unix(0, 0)), now)
}

// A deafOwner listens to nothing.
type deafOwner struct{}

var errLost = errors.New("lost")

func (deafOwner) Context() context.Context            { return context.Background() }
func (deafOwner) Answered(context.Context, *wire.Ask) {}
func (deafOwner) Held()                               {}
func (deafOwner) Renewed(*Renewed) func()             { return nil }
func (deafOwner) Cause(*Loss) error                   { return errLost }
func (deafOwner) Released(End)                        {}

// newLease makes a hold of a granted attempt that began now. Its client reaches no master.
func newLease(manager *Manager, ttl time.Duration) *Hold {
	h := &Hold{}
	h.Init(manager, deafOwner{}, &Handle{}, &Options{Fixed: true}, "key", "key").TTL = ttl
	h.life.start = manager.now()
	return h
}

// alone returns a manager of such holds. The validity is the whole TTL.
func alone(t *testing.T, clock drift.Clock) *Manager {
	t.Helper()
	nowhere := pipeline.New(pipeline.Config{Name: "nowhere", Network: "unix", Addr: "/nowhere", MinBackoff: time.Minute, MaxBackoff: time.Minute})
	manager := New(Config{
		Group:    &quorum.Group{Masters: []*pipeline.Pipeline{nowhere}, Need: 1, Clock: clock, Closing: t.Context()},
		Validity: func(ttl time.Duration) time.Duration { return ttl }, Unlocked: errors.New("unlocked"),
	})
	t.Cleanup(func() {
		manager.Stop()
		manager.ending.Wait()
		nowhere.Close()
	})
	return manager
}

// A clock that was read before the wait for the mutex is too old for a decision (S7).
func TestDecisionsReadTheClockUnderTheMutex(t *testing.T) {
	var wanted *Handle
	for name, decide := range map[string]func(h *Hold, n *Handle){
		"Handle.Remaining": func(_ *Hold, n *Handle) { n.Remaining() },
		"Hold.Remaining":   func(h *Hold, _ *Handle) { h.Remaining() },
		"IsHeld":           func(_ *Hold, n *Handle) { n.IsHeld() },
		"Context.Err":      func(_ *Hold, n *Handle) { _ = n.ctx.Err() },
		"Join":             func(_ *Hold, n *Handle) { wanted.Join(n, true) },
		"Extend":           func(_ *Hold, n *Handle) { n.Extend(t.Context()) },
		"Release":          func(_ *Hold, n *Handle) { n.end() },
		"HandOver":         func(_ *Hold, n *Handle) { n.HandOver() },
		"renewer.look":     func(h *Hold, _ *Handle) { h.manager.renewer.look(h) },
		"renewer.replan":   func(h *Hold, _ *Handle) { h.manager.renewer.replan(h) },
		"renewer.add":      func(h *Hold, _ *Handle) { h.manager.renewer.add(h) },
	} {
		clock := &fakeClock{} // nothing else reads it
		manager := alone(t, clock)
		wanted = &Handle{hold: newLease(manager, time.Hour)}
		h := newLease(manager, time.Millisecond)
		if name != "renewer.add" {
			h.life.state, h.life.validity = held, time.Millisecond // the renewer does not know it
		}
		h.sent = true // there is nothing to release
		h.first.Context(context.Background)
		time.Sleep(2 * time.Millisecond) // it has expired, so nothing is asked of masters
		h.mu.Lock()
		before, done := clock.readings.Load(), make(chan struct{})
		go func() {
			defer close(done)
			decide(h, h.first)
		}()
		time.Sleep(20 * time.Millisecond) // long enough to reach the mutex; otherwise the test sees nothing
		if clock.readings.Load() != before {
			t.Errorf("%s has read the clock before it had the mutex", name)
		}
		h.mu.Unlock()
		<-done
	}
}

// Go's clock says when the renewer looks at a hold, and the library's when the hold ends. After
// a pause between the two readings the renewer may look too early, never too late.
func TestAPauseBetweenTheReadingsOfTwoClocksLengthensNoHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := &fakeClock{}
		manager := alone(t, clock)
		h := newLease(manager, 2*time.Second)
		ends := time.Now().Add(2 * time.Second)
		clock.pause.Store(int64(time.Second))
		if !manager.renewer.add(h) {
			t.Fatal("not added")
		}
		<-h.first.Context(context.Background).Done()
		if late := time.Since(ends); late != 0 {
			t.Errorf("its context ended %v after it was valid", late)
		}
	})
}

func TestOnlyAnAttemptThatIsNotOverBecomesAHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		manager := alone(t, &fakeClock{})
		for _, over := range []state{held, lost, ended} {
			h := newLease(manager, time.Second)
			h.life.state = over
			if manager.renewer.add(h) || h.life.state != over || manager.Held() != 0 {
				t.Errorf("state %d has become a hold", over)
			}
		}
		late := newLease(manager, time.Second)
		time.Sleep(time.Second)
		if manager.renewer.add(late) {
			t.Error("what has no validity left has become a hold")
		}
		manager.LoseAll()
		if manager.renewer.add(newLease(manager, time.Second)) {
			t.Error("a hold has begun in a client that is closed")
		}
	})
}

// When a context ends, all that are derived from it end, one after the other. The contexts of
// other locks do not wait for that.
func TestTheContextOfALockEndsBesideOneWithManyDerivedContexts(t *testing.T) {
	const derived = 100_000
	round := func() (beside bool) {
		manager := alone(t, drift.System())
		many, other := newLease(manager, time.Hour), newLease(manager, time.Hour)
		for _, h := range []*Hold{many, other} {
			if !manager.renewer.add(h) {
				t.Fatal("not added")
			}
		}
		outer := many.first.Context(context.Background)
		all := make([]context.Context, derived)
		for i := range all {
			ctx, cancel := context.WithCancel(outer)
			defer cancel()
			all[i] = ctx
		}
		done := other.first.Context(context.Background).Done()
		// Both end soon, the one with many derived contexts first.
		for i, h := range []*Hold{many, other} {
			h.mu.Lock()
			h.life.start, h.life.validity = manager.now(), time.Duration(10+i)*time.Millisecond
			h.mu.Unlock()
			manager.renewer.schedule(h, manager.renewer.now()+time.Duration(10+i)*time.Millisecond)
		}
		manager.renewer.signal()
		<-done
		for _, ctx := range all {
			select {
			case <-ctx.Done():
			default:
				return true
			}
		}
		return false
	}
	for range 10 { // on a busy machine the other may wait all the same
		if round() {
			return
		}
	}
	t.Errorf("the other context ended after all of %d derived ones, in each of ten rounds", derived)
}
