package ballot_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/ballot"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/quorum"
)

// wantAbstains fails unless a master's part is a failure because it may not vote.
func (p *poll) wantAbstains(i int, want guard.Cause) {
	p.f.T.Helper()
	a := p.answerOf(i)
	why, ok := errors.AsType[*guard.AbstainError](a.Err)
	if a.Verdict != ballot.Failed || !ok || why.Cause != want {
		p.f.T.Errorf("master %d: %+v, want that it abstains: %v", i, a, want)
	}
}

// A server that is listed twice has one vote, and is asked for it once. A question that needs no
// vote goes to every address.
func TestExcludedMastersAreAskedForNoVote(t *testing.T) {
	inFleetAt(t, 2, []int{0}, func(t *testing.T, f *fleet) {
		f.guarded()
		f.answers("yy")
		p := f.begun(voting)
		p.Start = drift.Runtime().Now()
		p.send(0, time.Time{})
		p.waits(second, 0)
		synctest.Wait()
		p.wantOutcome(quorum.Granted, false)
		p.wantTally(2, 0, 1)
		if n := f.asked(0); n != 1 {
			t.Errorf("the server with two addresses was asked %d times", n)
		}
		p.wantAbstains(2, guard.Duplicate)
		if a := p.answerOf(2); !a.Unsent {
			t.Errorf("%+v", a)
		}
		f.wantInFlight(0)
		p.Done()
		p.wantHappened("free", "free")

		q := f.begun(ballot.Rules{}).ask()
		q.wantTally(3, 0, 0)
		q.Done()
	})
}

// In a round that asks for votes, the answers of masters that may not vote are failures, whatever
// they say. A call that has failed anyway keeps its own error.
func TestAnswersOfMastersThatMayNotVoteDoNotCount(t *testing.T) {
	for each, counted := range map[string][3]int{"xyy": {1, 0, 2}, "xnn": {0, 1, 2}} {
		inFleet(t, 3, func(t *testing.T, f *fleet) {
			f.guarded()
			for _, i := range []int{0, 1} { // as after a restart without data
				f.All[i].FlushAll()
			}
			f.answers(each)
			p := f.begun(ballot.Rules{Votes: true, Persist: true})
			p.Start = drift.Runtime().Now()
			p.ask()
			p.wantTally(counted[0], counted[1], counted[2])
			if a := p.answerOf(0); !errors.Is(a.Err, errNoAnswer) {
				t.Errorf("%+v", a)
			}
			p.wantAbstains(1, guard.Changed)
			if p.answerOf(1).Unsent {
				t.Error("the master has seen it")
			}
			p.Done()

			q := f.begun(persistent).ask()
			q.wantTally(counted[0]*2, counted[1]*2, 1)
			q.Done()
		})
	}
}
