package pipeline

import (
	"errors"
	"testing"
	"testing/synctest"
)

func TestTheQueueLimitRefusesWhatIsBeyondItAndLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = 100
		s := newFakeServer(t)
		g := newGate(s)
		cfg := g.config()
		cfg.QueueLimit = limit
		p := open(t, cfg)
		var accepted, refused []*waiter
		for i := range 3 * limit {
			if w := start(t, p, "SET", i); i < limit {
				accepted = append(accepted, w)
			} else {
				refused = append(refused, w)
			}
		}
		for i, w := range refused {
			if w.pending() {
				t.Fatalf("call %d beyond the limit is not completed", i)
			}
			if !errors.Is(w.call.Err, ErrQueueFull) || w.call.Sent {
				t.Errorf("error %v, sent %t", w.call.Err, w.call.Sent)
			}
		}
		if got := p.Stats(); got.InFlight != limit || got.Failures != 2*limit || got.Commands != 0 {
			t.Errorf("stats: %+v", got)
		}
		g.next <- nil
		for i, w := range accepted {
			if c := w.wait(); c.Err != nil {
				t.Fatalf("call %d: %v", i, c.Err)
			}
		}
		if got := p.Stats(); got.InFlight != 0 || got.Commands != limit || got.Failures != 2*limit {
			t.Errorf("stats: %+v", got)
		}
		if n := len(s.conn(1).calls()); n != limit {
			t.Errorf("%d calls arrived, want %d", n, limit)
		}
		mustAnswer(t, p, "OK", "GET", "x")
	})
}

// What is under way counts like what is queued: a frozen master must not
// gather calls without end.
func TestTheQueueLimitCountsWhatIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t)
		freezeOn(t, s)
		cfg := s.config()
		cfg.QueueLimit = 16
		p := connect(t, cfg)
		frozen := start(t, p, "FREEZE")
		synctest.Wait() // it is under way
		var calls []*waiter
		for range 15 {
			calls = append(calls, start(t, p, "GET", "x"))
			synctest.Wait()
		}
		if c := do(t, p, "GET", "x"); !errors.Is(c.Err, ErrQueueFull) {
			t.Errorf("error %v, want ErrQueueFull", c.Err)
		}
		// A kept call has no privilege.
		if c := startKept(t, p, bound, "K1").wait(); !errors.Is(c.Err, ErrQueueFull) {
			t.Errorf("error %v, want ErrQueueFull", c.Err)
		}
		for _, w := range append(calls, frozen) {
			if c := w.wait(); !errors.Is(c.Err, ErrStalled) {
				t.Errorf("error %v", c.Err)
			}
		}
		synctest.Wait()
		if n := p.Stats().InFlight; n != 0 {
			t.Errorf("%d in flight", n)
		}
		waitUp(t, p)
		mustAnswer(t, p, "OK", "GET", "x")
	})
}

// So it is with one that fails.
func TestACallThatFailedMakesRoomForTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(newFakeServer(t))
		cfg := g.config()
		cfg.QueueLimit = 1
		p := open(t, cfg)
		last := newWaiter(t, "LAST")
		first := newWaiter(t, "FIRST")
		first.onDone = func(*Call) { last.queue(p) }
		first.queue(p)
		g.next <- errRefused
		first.wait()
		if c := last.wait(); !errors.Is(c.Err, ErrDown) {
			t.Errorf("error %v, want ErrDown", c.Err)
		}
	})
}

// There is room again as soon as a call is handed back, not a moment later.
func TestCompleteMakesRoomForTheNextCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t)
		cfg := s.config()
		cfg.QueueLimit = 1
		p := connect(t, cfg)
		last := newWaiter(t, "LAST")
		first := newWaiter(t, "FIRST")
		first.onDone = func(*Call) { last.queue(p) }
		first.queue(p).wait()
		if c := last.wait(); c.Err != nil {
			t.Errorf("error %v", c.Err)
		}
	})
}
