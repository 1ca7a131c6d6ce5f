package pipeline

import (
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// startPersistent queues a call that is kept, and that is postponed whenever it is refused.
func startPersistent(t *testing.T, p *Pipeline, keep time.Duration, cmd string) *waiter {
	t.Helper()
	w := newWaiter(t, cmd)
	w.call.RetryUntil = time.Now().Add(keep)
	w.resends = func(c *Call) bool { return IsReply(c.Err) && p.RetryLater(c) }
	return w.queue(p)
}

// refusing opens a pipeline to a server that refuses all commands until accept is called. asked has
// the times at which commands came.
func refusing(t *testing.T) (p *Pipeline, asked *[]time.Duration, accept func()) {
	t.Helper()
	s, began := newFakeServer(t), time.Now()
	var accepts atomic.Bool
	asked = new([]time.Duration)
	s.reply = func(_ *fakeConn, _ []string) string {
		*asked = append(*asked, time.Since(began))
		if !accepts.Load() {
			return "-NOREPLICAS Not enough good replicas to write.\r\n"
		}
		return "+OK\r\n"
	}
	p = open(t, s.config())
	synctest.Wait()
	return p, asked, func() { accepts.Store(true) }
}

func TestARefusedCallIsSentAgainAfterPausesThatDouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, asked, accept := refusing(t)
		w := startPersistent(t, p, time.Minute, "K")
		time.Sleep(20 * time.Second)
		synctest.Wait()
		var pauses []time.Duration
		for i, at := range (*asked)[1:] {
			if pause := at - (*asked)[i]; pause != 0 { // at the same instant there was no pause
				pauses = append(pauses, pause)
			}
		}
		const ms = time.Millisecond
		want := []time.Duration{60 * ms, 110 * ms, 210 * ms, 410 * ms, 810 * ms, 1610 * ms, 3210 * ms, 5010 * ms, 5010 * ms}
		if len(pauses) < len(want) {
			t.Fatalf("pauses %v", pauses)
		}
		for i, w := range want {
			if got := pauses[i]; got < w-2*postponedGrid || got > w+postponedGrid {
				t.Errorf("pause %d was %v, want %v", i, got, w)
			}
		}
		if n := p.Stats().InFlight; n != 1 {
			t.Errorf("%d are in flight", n)
		}
		accept()
		if c := w.wait(); c.Err != nil {
			t.Error(c.Err)
		}
	})
}

func TestARefusedCallIsGivenUpWhenItIsNotKeptAnyLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _, _ := refusing(t)
		began := time.Now()
		if c := startPersistent(t, p, time.Second, "K").wait(); !IsReply(c.Err) {
			t.Errorf("%v", c.Err)
		}
		if d := time.Since(began); d > time.Second {
			t.Errorf("after %v", d)
		}
		if n := p.Stats().InFlight; n != 0 {
			t.Errorf("%d are in flight", n)
		}
	})
}

func TestPostponedCallsEndWithThePipeline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _, _ := refusing(t)
		w := startPersistent(t, p, time.Minute, "K")
		synctest.Wait()
		p.Close()
		if c := w.wait(); !errors.Is(c.Err, ErrClosed) {
			t.Error(c.Err)
		}
	})
}

func TestPostponedCallsTakeHalfOfTheQueueAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _, accept := refusing(t)
		half := p.QueueLimit() / 2
		var all []*waiter
		for range half + 10 {
			all = append(all, startPersistent(t, p, time.Minute, "K"))
		}
		synctest.Wait()
		given := slices.IndexFunc(all, func(w *waiter) bool { return w.completed.Load() != 0 })
		if n := p.Stats().InFlight; n != half || given != half {
			t.Errorf("%d are kept, and the first given back is number %d: want %d", n, given, half)
		}
		accept()
		for _, w := range all {
			w.wait()
		}
	})
}

// In a bubble, times have no monotonic reading. So this test uses real ones.
func TestPausesDoNotDependOnTheWallClock(t *testing.T) {
	now := time.Now()
	due := onGrid(now)
	if due == due.Round(0) { //nolint:staticcheck // the readings are compared, not the instants
		t.Errorf("%v has no monotonic reading", due)
	}
	if pause := due.Sub(now); pause <= 0 || pause > postponedGrid || due.UnixNano()%int64(postponedGrid) != 0 {
		t.Errorf("from %v to %v", now, due)
	}
}
