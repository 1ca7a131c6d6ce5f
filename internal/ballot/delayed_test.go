package ballot_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/internal/ballot"
	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/quorum"
)

// kill ends masters, and waits until their pipelines know.
func (f *fleet) kill(masters ...int) {
	f.Kill(masters...)
	time.Sleep(second) // the first redial has failed
	synctest.Wait()
}

// restart starts a master again with its data, and waits until it is connected.
func (f *fleet) restart(i int) {
	f.T.Helper()
	f.Restart(true, i)
	time.Sleep(2 * second)
	synctest.Wait()
}

// aMinute returns the time until which the calls of a test are kept.
func aMinute() time.Time { return time.Now().Add(time.Minute) }

// A call that is kept for a master that is down counts as failed for now, and does not delay the
// decision. Close does not wait for it, but Over does, because it may still set a key. Its answer
// counts when the master is back.
func TestACallThatIsKeptCountsAsFailedUntilItIsAnswered(t *testing.T) {
	inFleet(t, 3, func(t *testing.T, f *fleet) {
		f.answers("yny")
		f.kill(2)
		p := f.begun(persistent)
		var over quorum.Count
		over.Add()
		p.Over = &over
		p.send(0, aMinute())
		p.waits(second, 0)
		synctest.Wait()
		p.wantOutcome(quorum.Refused, false)
		p.wantTally(1, 1, 1)
		if a := p.answerOf(2); a.Verdict != ballot.Failed || !a.Delayed || !errors.Is(a.Err, pipeline.ErrDown) {
			t.Errorf("%+v", a)
		}
		f.wantInFlight(0)
		if over.Load() != 1 {
			t.Error("Over does not wait")
		}

		f.restart(2)
		if over.Load() != 0 {
			t.Error("Over is not done")
		}
		p.wantTally(2, 1, 0)
		p.wantOutcome(quorum.Refused, false)
		if a := p.answerOf(2); a.Verdict != ballot.Agreed || a.Delayed || !a.Late || a.Unsent || a.Err != nil {
			t.Errorf("%+v", a)
		}
		f.wantInFlight(0)
		p.wantHappened("", "free")
		p.Done()
		p.wantHappened("free", "free")
	})
}

// The answers of kept calls can decide a round that is still open.
func TestTheAnswersOfKeptCallsCanDecide(t *testing.T) {
	inFleet(t, 5, func(t *testing.T, f *fleet) {
		f.answers("yy-yy")
		f.kill(3, 4)
		p := f.begun(persistent)
		p.send(0, aMinute())
		synctest.Wait()
		p.wantOutcome(quorum.Open, false)
		p.wantTally(2, 0, 2)
		f.restart(3)
		p.wantOutcome(quorum.Granted, false)
		f.wantInFlight(1) // the silent master alone
		f.Thaw(2)
		f.wantInFlight(0)
		p.Done()
	})
}

// A master that is lost while it is asked has failed at once, even if its call is kept.
func TestTheLossOfAMasterDecidesAlthoughItsCallIsKept(t *testing.T) {
	inFleet(t, 3, func(t *testing.T, f *fleet) {
		f.answers("n--")
		p := f.begun(persistent)
		p.send(0, aMinute())
		synctest.Wait()
		p.wantOutcome(quorum.Open, false)
		f.kill(1)
		p.wantOutcome(quorum.Refused, false)
		p.Done()
	})
}

// After a deadline a kept call has failed for good, also one whose master is lost only then.
func TestAKeptCallThatIsAnsweredAfterTheDeadlineCountsForNothing(t *testing.T) {
	inFleet(t, 3, func(t *testing.T, f *fleet) {
		f.answers("y-y")
		f.kill(2)
		p := f.begun(persistent)
		p.send(0, aMinute())
		p.waits(50*time.Millisecond, 50*time.Millisecond)
		p.wantTally(1, 0, 2)
		f.wantInFlight(1)
		f.kill(1)
		p.wantTally(1, 0, 2)
		f.wantInFlight(0)
		f.restart(1)
		f.restart(2)
		p.wantTally(1, 0, 2)
		p.wantHappened("read 0", "read")
		p.Done()
		p.wantHappened("free", "free")
		f.wantInFlight(0)
	})
}

// When a round is refused or has failed, its calls that were not sent yet are dropped. Calls of a
// persistent round are still sent, and calls of a granted one.
func TestCallsAreGivenUpWhenTheDecisionIsANo(t *testing.T) {
	for name, test := range map[string]struct {
		rules ballot.Rules
		each  string
		sent  bool
	}{
		"refused":              {ballot.Rules{}, "nny", false},
		"granted":              {ballot.Rules{}, "yyy", true},
		"refused, but persist": {persistent, "nny", true},
	} {
		t.Run(name, func(t *testing.T) {
			inFleet(t, 3, func(t *testing.T, f *fleet) {
				f.answers(test.each)
				f.kill(2)
				p := f.begun(test.rules)
				p.send(0, aMinute())
				synctest.Wait()
				if p.GivenUp() == test.sent {
					t.Errorf("given up: %v", p.GivenUp())
				}
				f.restart(2)
				if n := f.asked(2); (n == 1) != test.sent || n > 1 {
					t.Errorf("the third master was asked %d times", n)
				}
				a := p.answerOf(2)
				if a.Unsent == test.sent {
					t.Errorf("unsent: %v", a.Unsent)
				}
				if !test.sent && (a.Verdict != ballot.Failed || !errors.Is(a.Err, pipeline.ErrDown)) {
					t.Errorf("it is not the failure before: %+v", a)
				}
				p.Done()
				p.wantHappened("free", "free")
				f.wantInFlight(0)
			})
		})
	}
}

// refuse makes a master answer with an error, until refuseNoMore.
func (f *fleet) refuse(i int) {
	f.T.Helper()
	f.Ask(i, "DEL", "answer")
	f.Ask(i, "RPUSH", "answer", "of another type")
}

func (f *fleet) refuseNoMore(i int, a string) {
	f.T.Helper()
	f.Ask(i, "DEL", "answer")
	f.answer(i, a)
}

// A refused call of a persistent round counts as failed at once, and is sent again until it is not
// refused. Close waits for it.
func TestARefusedCallThatPersistsIsSentAgain(t *testing.T) {
	inFleet(t, 3, func(t *testing.T, f *fleet) {
		f.answers("yny")
		f.refuse(2)
		p := f.begun(persistent)
		p.Notify = 1 << 2
		p.send(0, aMinute())
		p.waits(second, 0)
		synctest.Wait()
		p.wantOutcome(quorum.Refused, false)
		p.wantTally(1, 1, 1)
		if a := p.answerOf(2); a.Verdict != ballot.Failed || !a.Delayed || !pipeline.IsReply(a.Err) {
			t.Errorf("%+v", a)
		}
		f.wantInFlight(1)
		time.Sleep(10 * second)
		p.wantTally(1, 1, 1)
		if n := f.asked(2); n < 7 || n > 10 {
			t.Errorf("it was sent %d times in ten seconds", n)
		}

		f.refuseNoMore(2, "y")
		time.Sleep(10 * second)
		p.wantTally(2, 1, 0)
		p.wantHappened("ended 2, ended 2", "ended")
		f.wantInFlight(0)
		p.Done()
	})
}

// While the client closes, refused calls are not sent again. A call that is not kept never is.
func TestARefusalIsFinalWhereNothingIsKept(t *testing.T) {
	for name, keep := range map[string]time.Duration{"while the client closes": time.Minute, "a call that is not kept": 0} {
		t.Run(name, func(t *testing.T) {
			inFleet(t, 3, func(t *testing.T, f *fleet) {
				f.answers("yny")
				f.refuse(2)
				until := time.Time{}
				if keep != 0 {
					until = time.Now().Add(keep)
					f.close()
				}
				p := f.begun(persistent)
				p.send(0, until)
				p.waits(second, 0)
				time.Sleep(10 * second)
				if n := f.asked(2); n != 1 {
					t.Errorf("it was sent %d times", n)
				}
				f.wantInFlight(0)
				p.Done()
			})
		})
	}
}

// Close does not wait any more for a refused call when its master goes down.
func TestARefusedCallOfAMasterThatGoesDownIsNotWaitedFor(t *testing.T) {
	inFleet(t, 3, func(t *testing.T, f *fleet) {
		f.answers("yny")
		f.refuse(2)
		p := f.begun(persistent)
		p.send(0, aMinute())
		p.waits(second, 0)
		synctest.Wait()
		f.wantInFlight(1)
		f.kill(2)
		time.Sleep(10 * second)
		f.wantInFlight(0)
		f.restart(2)
		f.refuseNoMore(2, "y")
		time.Sleep(10 * second)
		p.wantTally(2, 1, 0)
		p.Done()
	})
}
