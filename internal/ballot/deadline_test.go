package ballot_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redquorum/redquorum/internal/ballot"
	"github.com/redquorum/redquorum/internal/quorum"
)

// A process that gets no processor reads its masters' answers late, and its timers run
// late: these do not end the wait before the answers have been looked for.
func TestAProcessThatIsHeldUpWaitsForAnswersBeyondTheDeadline(t *testing.T) {
	inFleet(t, 3, func(t *testing.T, f *fleet) {
		p := f.begun(ballot.Rules{})
		for _, test := range []struct {
			answers bool // 10 ms after the deadline
			waits   time.Duration
			want    quorum.Outcome
		}{
			{true, 60 * time.Millisecond, quorum.Granted},
			{false, 80 * time.Millisecond, quorum.Unreachable}, // by a timer that comes in time
		} {
			f.answers("---")
			p.send(0, time.Time{})
			began, waited := time.Now(), make(chan time.Duration)
			go func() {
				if err := p.Wait(t.Context(), 50*time.Millisecond); err != nil {
					t.Error(err)
				}
				waited <- time.Since(began)
			}()
			time.Sleep(10 * time.Millisecond)
			p.HeldUp(30 * time.Millisecond)
			time.Sleep(50 * time.Millisecond)
			if test.answers {
				for i := range 3 {
					f.answer(i, "y")
					f.Thaw(i)
				}
			}
			if took := <-waited; took != test.waits {
				t.Errorf("answers %v: it waited for %v, want %v", test.answers, took, test.waits)
			}
			p.wantOutcome(test.want, !test.answers)
			p.Done()
			f.thawAll()
			p.beginAgain(ballot.Rules{})
		}
		f.answers("yyy")
		p.send(0, time.Time{})
		p.waits(second, 0)
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

// Close ends what is waited for, but not what has to reach the masters still.
func TestCloseEndsTheWaitUnlessTheBallotPersists(t *testing.T) {
	inFleet(t, 3, func(t *testing.T, f *fleet) {
		f.answers("---")
		p, release := f.begun(ballot.Rules{}), f.begun(persistent)
		p.send(0, time.Time{})
		release.send(0, time.Time{})
		time.AfterFunc(70*time.Millisecond, f.close)
		// Looked for every 50 ms.
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

// A round that is decided when the client closes has its decision.
func TestCloseDoesNotUndoADecision(t *testing.T) {
	inFleet(t, 3, func(t *testing.T, f *fleet) {
		f.answers("yyy")
		p := f.begun(ballot.Rules{}).ask()
		f.close()
		p.waits(second, 0)
		p.wantOutcome(quorum.Granted, false)
		p.Done()
	})
}
