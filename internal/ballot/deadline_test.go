package ballot_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redquorum/redquorum/internal/ballot"
	"github.com/redquorum/redquorum/internal/quorum"
)

// A process without processor time reads answers late, and its timers fire late. Late timers do not
// end the wait before the answers could be read.
func TestAProcessThatIsHeldUpWaitsForAnswersBeyondTheDeadline(t *testing.T) {
	inFleet(t, 3, func(t *testing.T, f *fleet) {
		f.answers("---")
		p := f.begun(ballot.Rules{})
		p.send(0, time.Time{})
		time.AfterFunc(10*time.Millisecond, func() { p.HeldUp(30 * time.Millisecond) })
		time.AfterFunc(60*time.Millisecond, func() { // 10 ms after the deadline
			for i := range 3 {
				f.answer(i, "y")
				f.All[i].Thaw()
			}
		})
		p.waits(50*time.Millisecond, 60*time.Millisecond)
		p.wantOutcome(quorum.Granted, false)
		p.Done()
	})
}

// An answer that comes in time is not affected by the deadline, and the deadline of
// one use does not end the next.
func TestADeadlineEndsOneUseOnly(t *testing.T) {
	inFleet(t, 3, func(t *testing.T, f *fleet) {
		f.answers("yyy")
		p := f.begun(ballot.Rules{}).ask()
		p.Done()
		for _, limit := range []time.Duration{30 * time.Millisecond, 200 * time.Millisecond, 30 * time.Millisecond} {
			f.answers("---")
			p.beginAgain(ballot.Rules{})
			p.send(0, time.Time{})
			p.waits(limit, limit)
			f.thawAll()
			p.Done()

			f.answers("yyy")
			p.beginAgain(ballot.Rules{})
			p.send(0, time.Time{})
			p.waits(limit, 0)
			p.wantOutcome(quorum.Granted, false)
			p.Done()
		}
	})
}

func TestTheEndOfTheContextEndsTheWait(t *testing.T) {
	inFleet(t, 3, func(t *testing.T, f *fleet) {
		f.answers("---")
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		p := f.begun(ballot.Rules{})
		p.send(0, time.Time{})
		err := f.takes(20*time.Millisecond, func() error { return p.Wait(ctx, second) })
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		p.wantOutcome(quorum.Unreachable, true)
		p.Done()
		f.thawAll()
		p.wantHappened("free", "free")
		p.wantHappened("", "read")
	})
}

// Close ends the wait, except for a round that still has to reach the masters.
func TestCloseEndsTheWaitUnlessTheRoundPersists(t *testing.T) {
	inFleet(t, 3, func(t *testing.T, f *fleet) {
		f.answers("---")
		p, release := f.begun(ballot.Rules{}), f.begun(persistent)
		p.send(0, time.Time{})
		release.send(0, time.Time{})
		time.AfterFunc(70*time.Millisecond, f.close)
		// Wait looks every 50 ms whether the client closes.
		if err := p.wait(second, 100*time.Millisecond); !errors.Is(err, errClosed) {
			t.Errorf("%v", err)
		}
		p.wantOutcome(quorum.Unreachable, true)
		if err := release.wait(200*time.Millisecond, 200*time.Millisecond); err != nil {
			t.Errorf("a ballot that persists: %v", err)
		}
		p.Done()
		release.Done()
		f.thawAll()
		// What has ended one use does not end the next.
		f.answers("yyy")
		p.beginAgain(persistent)
		p.send(0, time.Time{})
		if err := p.wait(second, 0); err != nil {
			t.Errorf("the next use: %v", err)
		}
		p.Done()
	})
}
