package ballot_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/ballot"
	"github.com/redquorum/redquorum/internal/quorum"
)

// Invariant L4: nothing of one use is left in the next.
func TestANextUseBeginsEmpty(t *testing.T) {
	inFleet(t, 3, func(t *testing.T, f *fleet) {
		var over quorum.Count
		p := f.poll()
		f.answers("yn-")
		p.Begin(persistent)
		p.Start = drift.Runtime().Now()
		p.Agreed, p.Notify, p.Over, p.Decided = 1<<2, 1<<0|1<<1, &over, discardDecision{}
		p.SetOwn(1, getCommand("answer"))
		p.Command.Key = 7
		over.Add()
		p.send(0, time.Now().Add(time.Minute))
		synctest.Wait()
		p.Expire()
		p.Done()
		f.Thaw(2)

		f.answers("---")
		p.beginAgain(ballot.Rules{})
		p.wantOutcome(quorum.Open, false)
		p.wantTally(0, 0, 0)
		if p.Tally().Total != 3 || p.Tally().Need != 2 {
			t.Errorf("%+v", *p.Tally())
		}
		for i := range 3 {
			if a := p.answerOf(i); a != (ballot.Answer{}) {
				t.Errorf("master %d: %+v", i, a)
			}
		}
		if p.Agreed != 0 || p.Notify != 0 || p.Over != nil || p.Decided != nil || p.Start != (drift.Instant{}) ||
			len(p.Own) != 0 || len(p.Command.Encoded) != 0 || p.Command.Key != 0 || p.GivenUp() {
			t.Errorf("%+v", &p.Round)
		}
		// A decision that nobody waited for does not end the next Wait.
		p.send(0, time.Time{})
		p.waits(20*time.Millisecond, 20*time.Millisecond)
		p.Done()
		f.thawAll()
		p.wantHappened("free", "free")
		if over.Load() != 0 {
			t.Errorf("%d are left", over.Load())
		}
	})
}

type discardDecision struct{}

func (discardDecision) Decided(*ballot.Round) {}
