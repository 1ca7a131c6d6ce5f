package pipeline

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// wantDelivery looks when all that can be done has been done.
func wantDelivery(t *testing.T, p *Pipeline, what string, answered, settled bool) {
	t.Helper()
	synctest.Wait()
	if d := p.Delivery(); d.Answered != answered || d.Settled != settled {
		t.Errorf("%s: %+v, want answered %t, settled %t", what, d, answered, settled)
	}
}

func TestDeliveryTellsHowFarCallsHaveCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, g, p := atGate(t)
		answer := make(chan struct{})
		s.reply = func(*fakeConn, []string) string {
			<-answer
			return "+OK\r\n"
		}
		wantDelivery(t, p, "connecting, nothing asked", false, true)
		one := start(t, p, "ONE")
		wantDelivery(t, p, "connecting", false, false)
		g.next <- nil
		synctest.Wait()
		p.session.outgoing.nearest.Store(int64(farFrom))
		wantDelivery(t, p, "just written", false, false)
		time.Sleep(farFrom)
		wantDelivery(t, p, "written", false, true)
		before := p.Delivery().Accepted
		big := start(t, p, "BIG", strings.Repeat("x", readAtOnce))
		time.Sleep(farFrom)
		wantDelivery(t, p, "too much unanswered", false, false)
		if d := p.Delivery(); d.Accepted != before+1 {
			t.Errorf("%d calls accepted after %d and one", d.Accepted, before)
		}
		answer <- struct{}{}
		one.wait()
		wantDelivery(t, p, "the large one is still unanswered", false, false)
		answer <- struct{}{}
		big.wait()
		wantDelivery(t, p, "answered", true, true)
		small := start(t, p, "SMALL")
		time.Sleep(farFrom)
		wantDelivery(t, p, "what was answered does not count any more", false, true)
		answer <- struct{}{}
		small.wait()
		close(answer)
	})
}

// A near master is waited for, however long it takes: it may be busy, or come back.
func TestOnlyAMasterFarAwayIsSettledWithoutAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, g, p := atGate(t)
		s.reply = func(*fakeConn, []string) string { return "" }
		g.next <- nil
		call := start(t, p, "ONE")
		synctest.Wait()
		p.session.outgoing.nearest.Store(int64(farFrom) - 1)
		time.Sleep(10 * restsFor)
		wantDelivery(t, p, "near", false, false)
		s.conn(1).reset()
		call.wait()
		wantDelivery(t, p, "lost", false, true)
		call = startKept(t, p, time.Hour, "TWO")
		wantDelivery(t, p, "lost, and something is kept for the next connection", false, false)
		p.Close()
		call.wait()
		wantDelivery(t, p, "closed", false, true)
	})
}

func TestTheLeastRoundTripOfAConnectionCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t)
		took := 100 * time.Millisecond
		s.reply = func(*fakeConn, []string) string {
			time.Sleep(took)
			return "+OK\r\n"
		}
		p := connect(t, s.config())
		p.session.outgoing.nearest.Store(int64(time.Second)) // a handshake that took long
		for _, took = range []time.Duration{30 * time.Millisecond, 50 * time.Millisecond} {
			start(t, p, "ONE").wait()
		}
		if n := time.Duration(p.session.outgoing.nearest.Load()); n != 30*time.Millisecond {
			t.Errorf("the least round trip is %v", n)
		}
	})
}

func TestCloseLeavesWhatWasWrittenToTheKernel(t *testing.T) {
	for _, all := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			s := newFakeServer(t)
			goOn := s.hold("BUSY")
			s.reply = func(*fakeConn, []string) string { return "" } // it reads all that it has before it writes an answer
			s.window = 4 << 10
			p := connect(t, s.config())
			calls := []*waiter{start(t, p, "BUSY")}
			synctest.Wait()
			calls = append(calls, start(t, p, "RELEASE"))
			if !all {
				calls = append(calls, start(t, p, "BIG", strings.Repeat("x", 64<<10))) // the kernel does not take all of it
			}
			synctest.Wait()
			p.session.outgoing.nearest.Store(int64(farFrom))
			time.Sleep(restsFor)
			p.Close()
			mustFail(t, ErrClosed, calls...)
			goOn()
			synctest.Wait()
			if got := s.conn(1).calls(); !slices.Contains(got, "RELEASE") && all {
				t.Errorf("the master got %q", got)
			} else if !all && slices.ContainsFunc(got, func(line string) bool { return strings.HasPrefix(line, "BIG") }) {
				t.Error("half a command was executed")
			}
		})
	}
}
