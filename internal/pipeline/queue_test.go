package pipeline

import (
	"errors"
	"testing"
	"testing/synctest"
)

// Calls in flight count like queued calls: a frozen master must not gather calls without end.
func TestTheQueueLimitCountsWhatIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t)
		s.hold("FREEZE")
		cfg := s.config()
		cfg.QueueLimit = 16
		p := connect(t, cfg)
		calls := []*waiter{start(t, p, "FREEZE")}
		for len(calls) < cfg.QueueLimit {
			synctest.Wait() // they are in flight
			calls = append(calls, start(t, p, "GET", "x"))
		}
		synctest.Wait()
		mustFail(t, ErrQueueFull, start(t, p, "GET", "x"), startKept(t, p, bound, "K1")) // a kept call has no privilege
		mustFail(t, ErrStalled, calls...)
		synctest.Wait()
		if n := p.Stats().InFlight; n != 0 {
			t.Errorf("%d in flight", n)
		}
		waitUp(t, p)
		mustAnswer(t, p, "OK", "GET", "x")
	})
}

// A call makes room in the queue as soon as Complete is called, whether it was answered or not.
func TestCompleteMakesRoomForTheNextCall(t *testing.T) {
	for _, dial := range []error{nil, errRefused} {
		synctest.Test(t, func(t *testing.T) {
			g := newGate(newFakeServer(t))
			cfg := g.config()
			cfg.QueueLimit = 1
			p := open(t, cfg)
			last := newWaiter(t, "LAST")
			first := newWaiter(t, "FIRST")
			first.onDone = func(*Call) { last.queue(p) }
			first.queue(p)
			g.next <- dial
			first.wait()
			if c := last.wait(); !errors.Is(c.Err, dial) {
				t.Errorf("error %v, want %v", c.Err, dial)
			}
		})
	}
}
