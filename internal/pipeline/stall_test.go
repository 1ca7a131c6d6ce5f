package pipeline

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestAConnectionWithoutProgressIsReplacedAfterTheLimitAndNotBefore(t *testing.T) {
	for _, limit := range []time.Duration{10 * time.Millisecond, time.Second, 15 * time.Second} {
		inBubble(t, limit.String(), func(t *testing.T) {
			s := newFakeServer(t)
			s.hold("FREEZE")
			cfg := s.config()
			cfg.StallLimit = limit
			p := connect(t, cfg)
			mustAnswer(t, p, "OK", "GET", "x")
			time.Sleep(time.Hour) // the watch rests

			begun := time.Now()
			first := start(t, p, "FREEZE")
			synctest.Wait()
			time.Sleep(limit / 2)
			second := start(t, p, "GET", "x") // does not extend the limit
			mustStall(t, begun, limit, first, second)
			if !first.call.Sent {
				t.Error("the first call counts as not sent")
			}
			synctest.Wait()
			if got := s.conn(1).client.linger.Load(); got != 0 { // late bytes must not be executed (S5)
				t.Errorf("linger %d, want 0: reset", got)
			}
			if up, err := p.Up(); !up { // the dial after a stall is the first: it does not wait
				t.Errorf("not connected again at once: %v", err)
			}
			mustSucceed(t, 2, start(t, p, "GET", "x"))
		})
	}
}

// The watch compares counters now and then. Whenever the last reply comes between two comparisons,
// a stall is found no sooner than the limit after it.
func TestAStallAfterTrafficIsFoundInTime(t *testing.T) {
	const limit = time.Second
	for phase := time.Duration(0); phase < limit/2; phase += 13 * time.Millisecond {
		synctest.Test(t, func(t *testing.T) {
			s := newFakeServer(t)
			s.hold("FREEZE")
			s.reply = func(_ *fakeConn, args []string) string {
				if args[0] == "SLOW" {
					time.Sleep(phase)
				}
				return "+OK\r\n"
			}
			cfg := s.config()
			cfg.StallLimit = limit
			p := connect(t, cfg)
			slow, last := start(t, p, "SLOW"), start(t, p, "FREEZE")
			slow.wait()
			mustStall(t, time.Now(), limit, last)
		})
	}
}

// A process without processor time reads replies late, and its timers fire late. The master is not
// silent then.
func TestTimeInWhichTheProcessIsHeldUpIsNoSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit, late = time.Second, 100 * time.Millisecond
		s := newFakeServer(t)
		s.hold("FREEZE")
		cfg := s.config()
		cfg.StallLimit = limit
		p := connect(t, cfg)
		mustAnswer(t, p, "OK", "GET", "x")
		time.Sleep(time.Hour) // the watch rests
		begun := time.Now()
		frozen := start(t, p, "FREEZE")
		synctest.Wait()
		p.mu.Lock()
		w := &p.session.watch
		p.mu.Unlock()
		for i := range 2 {
			w.mu.Lock()
			w.due = w.due.Add(-late) // so that the timer comes late
			w.mu.Unlock()
			time.Sleep(limit / 4)
			synctest.Wait()
			if p.silent.Load() {
				t.Errorf("the master counts as silent after look %d, which came late", i+1)
			}
		}
		time.Sleep(limit / 4)
		synctest.Wait()
		if !p.silent.Load() {
			t.Error("the master does not count as silent after a look that came in time")
		}
		if c := frozen.wait(); !errors.Is(c.Err, ErrStalled) {
			t.Errorf("error %v", c.Err)
		}
		if took, want := time.Since(begun), limit+limit/4; took != want { // 2*late more, in quarters
			t.Errorf("found after %v, want %v", took, want)
		}
	})
}

// The first write of a connection may be the one that blocks.
func TestABlockedFirstWriteIsAStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t)
		s.window = 4 << 10
		release := make(chan struct{})
		t.Cleanup(func() { close(release) })
		s.greet = func(c *fakeConn, args []string) (string, bool) {
			if args[0] != "PING" { // it is the last of the handshake
				return "", false
			}
			_, _ = io.WriteString(c, c.greeting(args))
			<-release
			return "", true
		}
		p := connect(t, s.config())
		mustStall(t, time.Now(), time.Second, start(t, p, "SET", "x", strings.Repeat("x", 4*writeAtOnce)))
	})
}

// A master that accepts connections and never answers must not make each call wait.
func TestAStalledMasterCountsAsDownUntilItIsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, g, p := atGate(t)
		s.hold("FREEZE")
		g.next <- nil
		mustAnswer(t, p, "OK", "GET", "x")
		kept := startKept(t, p, time.Hour, "FREEZE")
		mustFail(t, ErrStalled, start(t, p, "GET", "x"))
		synctest.Wait()
		if n := kept.delayed.Load(); n != 1 {
			t.Errorf("the kept call was delayed %d times, want 1", n)
		}
		begun := time.Now()
		c := do(t, p, "GET", "x")
		if !errors.Is(c.Err, ErrDown) || !errors.Is(c.Err, ErrStalled) || c.Sent {
			t.Errorf("error %v, sent %t; want ErrDown because of ErrStalled", c.Err, c.Sent)
		}
		if took := time.Since(begun); took != 0 {
			t.Errorf("it took %v to say so", took)
		}
		if ok, err := p.Up(); ok || !errors.Is(err, ErrStalled) {
			t.Errorf("up %t, %v", ok, err)
		}
		// The kept call would freeze the new connection too, so it is abandoned.
		kept.unwanted.Store(true)
		g.next <- nil
		kept.wait()
		mustSucceed(t, 2, start(t, p, "GET", "x"))
	})
}

// Calls that ask for a vote are not written to a silent master, but releases are. With its next
// reply the master is asked for votes again.
func TestASilentMasterIsNotAskedForVotes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t)
		goOn := s.hold("FREEZE")
		p := connect(t, s.config())
		vote := func() *waiter {
			w := newWaiter(t, "SET")
			w.call.Vote = true
			return w.queue(p)
		}
		start(t, p, "FREEZE")
		synctest.Wait()
		before := vote()
		time.Sleep(defaultStallLimit / 2)
		if c := vote().wait(); !errors.Is(c.Err, ErrStalled) || c.Sent {
			t.Errorf("error %v, sent %t", c.Err, c.Sent)
		}
		if !before.pending() {
			t.Error("what was asked before the silence has ended")
		}
		release := startKept(t, p, time.Hour, "RELEASE")
		synctest.Wait()
		goOn()
		synctest.Wait()
		mustSucceed(t, 1, before, release, vote())
		time.Sleep(time.Hour) // idle is not silent
		mustSucceed(t, 1, vote())
		if got, want := s.conn(1).calls(), []string{"FREEZE", "SET", "RELEASE", "SET", "SET"}; !slices.Equal(got, want) {
			t.Errorf("executed %v, want %v", got, want)
		}
	})
}

// mustStall waits for calls that must end by a stall. The stall must be found no sooner than the
// limit after since, and at most a quarter of the limit later.
func mustStall(t *testing.T, since time.Time, limit time.Duration, calls ...*waiter) {
	t.Helper()
	mustFail(t, ErrStalled, calls...)
	if took := time.Since(since); took < limit || took > limit+limit/4 {
		t.Errorf("found after %v, want %v to a quarter more", took, limit)
	}
}

// A master whose answer takes no longer than usual is not silent.
func TestAMasterFarAwayIsNotSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const trip = 600 * time.Millisecond
		s := newFakeServer(t)
		s.setGreet(func(c *fakeConn, args []string) (string, bool) {
			if args[0] == "PING" { // it ends the handshake, which measures the round trip
				time.Sleep(trip)
			}
			return "", false
		})
		s.reply = func(*fakeConn, []string) string {
			time.Sleep(trip)
			return "+OK\r\n"
		}
		p := connect(t, s.config())
		waitUp(t, p)
		if d := p.RoundTrip(); d < trip || d > trip+time.Millisecond {
			t.Errorf("the first round trip is %v, want %v", d, trip)
		}
		for range 10 {
			start(t, p, "GET", "x")
			time.Sleep(trip - 10*time.Millisecond)
			w := newWaiter(t, "SET")
			w.call.Vote = true
			if c := w.queue(p).wait(); c.Err != nil {
				t.Errorf("after %v: %v", trip, c.Err)
			}
			time.Sleep(10 * trip)
		}
	})
}
