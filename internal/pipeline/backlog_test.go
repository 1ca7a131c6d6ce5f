package pipeline

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// pausable is a server that takes its time for WAIT, until goOn is called, and for FAR,
// 200 ms.
func pausable(t *testing.T) (p *Pipeline, goOn func()) {
	s := newFakeServer(t)
	goOn = s.hold("WAIT")
	s.reply = func(_ *fakeConn, args []string) string {
		if args[0] == "FAR" {
			time.Sleep(200 * time.Millisecond)
		}
		return "+OK\r\n"
	}
	cfg := s.config()
	cfg.StallLimit = time.Minute
	return connect(t, cfg), goOn
}

// fill has as many calls wait as a silent master may have.
func fill(t *testing.T, p *Pipeline) (waiting []*waiter) {
	waiting = append(waiting, start(t, p, "WAIT"))
	synctest.Wait()
	for len(waiting) < mostUnanswered {
		waiting = append(waiting, start(t, p, "GET", "x"))
	}
	return waiting
}

func TestAMasterThatAnswersNothingGathersNoMoreThanABacklog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, goOn := pausable(t)
		mustAnswer(t, p, "OK", "GET", "x")
		waiting := fill(t, p)
		begun := time.Now()
		for {
			time.Sleep(time.Millisecond)
			w := start(t, p, "GET", "x")
			if w.pending() {
				waiting = append(waiting, w)
			} else if c := w.wait(); !errors.Is(c.Err, ErrQueueFull) || c.Sent {
				t.Fatalf("error %v, sent %t", c.Err, c.Sent)
			} else {
				break
			}
		}
		if took := time.Since(begun); took < leastSilence || took > leastSilence+2*mostStep {
			t.Errorf("refused after %v, want %v", took, leastSilence)
		}
		release := startKept(t, p, bound, "K1")
		if !release.pending() {
			t.Errorf("a release was refused: %v", release.call.Err)
		}
		goOn()
		mustSucceed(t, 1, append(waiting, release)...)
		mustSucceed(t, 1, fill(t, p)...) // it answers again
	})
}

// Neither is silent: one that answers, however late, and one of which this process
// has not looked for the answers.
func TestNoBacklogIsRefusedWhereTheMasterMayAnswer(t *testing.T) {
	accepted := func(t *testing.T, p *Pipeline) {
		t.Helper()
		if w := start(t, p, "GET", "x"); !w.pending() {
			t.Fatal(w.call.Err)
		}
	}
	inBubble(t, "far away", func(t *testing.T) {
		p, _ := pausable(t)
		mustAnswer(t, p, "OK", "FAR")
		start(t, p, "FAR")
		synctest.Wait()
		for i := range mostUnanswered + 150 {
			if i > mostUnanswered {
				time.Sleep(time.Millisecond)
			}
			accepted(t, p)
		}
	})
	inBubble(t, "not looked", func(t *testing.T) {
		p, _ := pausable(t)
		mustAnswer(t, p, "OK", "GET", "x")
		fill(t, p)
		for range int(leastSilence/mostStep) - 1 {
			accepted(t, p)
			time.Sleep(time.Second)
		}
	})
	inBubble(t, "not connected", func(t *testing.T) {
		_, g, p := atGate(t)
		for range 2 * mostUnanswered {
			accepted(t, p)
			time.Sleep(100 * time.Microsecond)
		}
		g.next <- nil
		synctest.Wait()
	})
}
