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

// A fakeClock is Go's. It counts readings, and pauses once after one.
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

// newLease makes a hold of a granted attempt that began now, of a client that has no masters.
func newLease(home *Home, ttl time.Duration) *Hold {
	h := &Hold{}
	h.Init(home, deafOwner{}, &Handle{}, &Options{Fixed: true}, "key", "key").TTL = ttl
	h.life.start = home.now()
	return h
}

// alone is the home of such holds. All of a TTL is validity.
func alone(t *testing.T, clock drift.Clock) *Home {
	t.Helper()
	nowhere := pipeline.New(pipeline.Config{Name: "nowhere", Network: "unix", Addr: "/nowhere", MinBackoff: time.Minute, MaxBackoff: time.Minute})
	home := New(Config{
		Group:    &quorum.Group{Masters: []*pipeline.Pipeline{nowhere}, Need: 1, Clock: clock, Life: t.Context()},
		Validity: func(ttl time.Duration) time.Duration { return ttl }, Unlocked: errors.New("unlocked"),
	})
	t.Cleanup(func() {
		home.Stop()
		home.ending.Wait()
		nowhere.Close()
	})
	return home
}

// Who reads the clock and then waits for the mutex decides by a time that is over (S7).
func TestWhoDecidesByTheClockReadsItUnderTheMutex(t *testing.T) {
	clock := &fakeClock{}
	home := alone(t, clock)
	wanted := &Handle{hold: newLease(home, time.Hour)}
	for name, decide := range map[string]func(h *Hold, n *Handle){
		"Handle.Remaining": func(_ *Hold, n *Handle) { n.Remaining() },
		"Hold.Remaining":   func(h *Hold, _ *Handle) { h.Remaining() },
		"IsHeld":           func(_ *Hold, n *Handle) { n.IsHeld() },
		"Context.Err":      func(_ *Hold, n *Handle) { _ = n.ctx.Err() },
		"Join":             func(_ *Hold, n *Handle) { wanted.Join(n, true) },
		"Extend":           func(_ *Hold, n *Handle) { n.Extend(t.Context()) },
		"Release":          func(_ *Hold, n *Handle) { n.end() },
		"HandOver":         func(_ *Hold, n *Handle) { n.HandOver() },
		"keeper.look":      func(h *Hold, _ *Handle) { home.keeper.look(h) },
		"keeper.replan":    func(h *Hold, _ *Handle) { home.keeper.replan(h) },
		"keeper.add":       func(h *Hold, _ *Handle) { home.keeper.add(h) },
	} {
		h := newLease(home, time.Millisecond)
		if name != "keeper.add" {
			h.life.state, h.life.validity = held, time.Millisecond // nobody looks after it
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
		time.Sleep(20 * time.Millisecond) // long enough to come to the mutex; if not, nothing is seen
		if clock.readings.Load() != before {
			t.Errorf("%s has read the clock before it had the mutex", name)
		}
		h.mu.Unlock()
		<-done
	}
}

// When a hold is looked at is planned by Go's clock, and its end by the library's. A pause
// between the two readings may let it be looked at too early, never too late.
func TestAPauseBetweenTheReadingsOfTwoClocksLengthensNoHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := &fakeClock{}
		home := alone(t, clock)
		h := newLease(home, 2*time.Second)
		ends := time.Now().Add(2 * time.Second)
		clock.pause.Store(int64(time.Second))
		if !home.keeper.add(h) {
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
		home := alone(t, &fakeClock{})
		for _, over := range []state{held, lost, ended} {
			h := newLease(home, time.Second)
			h.life.state = over
			if home.keeper.add(h) || h.life.state != over || home.Held() != 0 {
				t.Errorf("state %d has become a hold", over)
			}
		}
		late := newLease(home, time.Second)
		time.Sleep(time.Second)
		if home.keeper.add(late) {
			t.Error("what has no validity left has become a hold")
		}
		home.LoseAll()
		if home.keeper.add(newLease(home, time.Second)) {
			t.Error("a hold has begun in a client that is closed")
		}
	})
}

// With a context all that are derived from it end, one after the other. The contexts of other
// locks do not wait for that.
func TestTheContextOfALockEndsBesideOneWithManyDerivedContexts(t *testing.T) {
	const derived = 100_000
	round := func() (beside bool) {
		home := alone(t, drift.System())
		many, other := newLease(home, time.Hour), newLease(home, time.Hour)
		for _, h := range []*Hold{many, other} {
			if !home.keeper.add(h) {
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
		// Both end soon, the one with the many first.
		for i, h := range []*Hold{many, other} {
			h.mu.Lock()
			h.life.start, h.life.validity = home.now(), time.Duration(10+i)*time.Millisecond
			h.mu.Unlock()
			home.keeper.schedule(h, home.keeper.now()+time.Duration(10+i)*time.Millisecond)
		}
		home.keeper.signal()
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
	for range 10 { // a busy machine may let the one wait all the same
		if round() {
			return
		}
	}
	t.Errorf("the other context ended after all of %d derived ones, in each of ten rounds", derived)
}
