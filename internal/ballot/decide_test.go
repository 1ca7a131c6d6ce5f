package ballot_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/internal/ballot"
	"github.com/redquorum/redquorum/internal/quorum"
)

var noContext = context.Background()

const second = time.Second

// Invariant L1: a round returns with the answer that decides it, and no silent master delays it. A
// round that is still open waits.
func TestARoundIsDecidedWithoutSilentMasters(t *testing.T) {
	for each, want := range map[string]quorum.Outcome{
		"--yyy": quorum.Granted,
		"nxn--": quorum.Refused,
		"yyxxx": quorum.Unreachable,
		"yynn-": quorum.Open,
	} {
		t.Run(each, func(t *testing.T) {
			inFleet(t, 5, func(t *testing.T, f *fleet) {
				f.answers(each)
				p := f.begun(ballot.Rules{})
				defer p.Done()
				p.send(0, time.Time{})
				if want != quorum.Open {
					p.waits(second, 0)
				}
				synctest.Wait()
				p.wantOutcome(want, false)
				p.Expire()
			})
		})
	}
}

// With Rules.All the round waits for the last answer, and is granted whatever the answers are.
func TestAQuestionToAllIsDecidedByTheLastAnswer(t *testing.T) {
	inFleet(t, 3, func(t *testing.T, f *fleet) {
		f.answers("nx-")
		p := f.begun(everyone).ask()
		defer p.Done()
		p.wantOutcome(quorum.Open, false)
		f.answer(2, "y")
		f.Thaw(2)
		p.waits(second, 0)
		p.wantOutcome(quorum.Granted, false)
		p.wantTally(1, 1, 1)
	})
}

// Masters in Agreed count as agreed, skipped masters as refusing, and neither are asked. A master
// that is both refuses.
func TestMastersWhoseAnswerIsKnownAreNotAsked(t *testing.T) {
	inFleet(t, 5, func(t *testing.T, f *fleet) {
		f.answers("xxyyy")
		p := f.begun(ballot.Rules{})
		defer p.Done()
		p.Agreed = 1<<0 | 1<<1
		p.send(1<<1, time.Time{})
		synctest.Wait()
		p.wantTally(4, 1, 0)
		for i, want := range []int{0, 0, 1, 1, 1} {
			if n := f.asked(i); n != want {
				t.Errorf("master %d was asked %d times, want %d", i, n, want)
			}
		}
		p.wantHappened("", "ended")
		if a := p.answerOf(0); a.Verdict != ballot.Agreed {
			t.Errorf("%+v", a)
		}
		if a := p.answerOf(1); a.Verdict != ballot.Refused {
			t.Errorf("%+v", a)
		}
	})
}

func TestARoundWhoseAnswersAreAllKnownIsDecidedAtOnce(t *testing.T) {
	inFleet(t, 3, func(t *testing.T, f *fleet) {
		p := f.begun(ballot.Rules{})
		p.Agreed = 1 << 0
		p.send(1<<1|1<<2, time.Time{})
		p.wantOutcome(quorum.Refused, false)
		f.wantInFlight(0)
		p.waits(second, 0)
		p.wantHappened("", "free")
		p.Done()
		p.wantHappened("free", "free")
	})
}

// Took is measured only with Config.Timed.
func TestAnswersAreTimedWhereThatIsWanted(t *testing.T) {
	inFleet(t, 3, func(t *testing.T, f *fleet) {
		for _, timed := range []bool{false, true} {
			f.answers("--y")
			p := f.begun(everyone)
			f.cfg.Timed = timed
			p.ask()
			for i := range 2 {
				time.Sleep(10 * time.Millisecond)
				f.answer(i, "y")
				f.Thaw(i)
			}
			took := []time.Duration{p.answerOf(0).Took, p.answerOf(1).Took, p.answerOf(2).Took}
			want := make([]time.Duration, 3)
			if timed {
				want = []time.Duration{10 * time.Millisecond, 20 * time.Millisecond, 0}
			}
			if !slices.Equal(took, want) {
				t.Errorf("timed %v: %v, want %v", timed, took, want)
			}
			p.Done()
		}
	})
}

// No master is asked here: this is what a round itself allocates.
func TestAReusedRoundAllocatesNothing(t *testing.T) {
	inFleet(t, 3, func(t *testing.T, f *fleet) {
		for _, timed := range []bool{false, true} {
			p := f.poll()
			f.cfg.Timed = timed
			n := testing.AllocsPerRun(100, func() {
				p.Begin(ballot.Rules{})
				p.Agreed = 1<<0 | 1<<1
				p.Send("GET", 1<<2, time.Time{})
				_ = p.Wait(noContext, second)
				p.events = p.events[:0]
				p.Done()
			})
			if n != 0 {
				t.Errorf("timed %v: %v allocations", timed, n)
			}
		}
	})
}
