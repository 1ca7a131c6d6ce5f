package ballot_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/ballot"
	"github.com/redquorum/redquorum/internal/group"
	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/quorum"
)

// An answer that comes after an early decision is counted, and marked as late: it
// says more exactly why the decision fell. It does not change the decision.
func TestALateAnswerIsCountedAndDecidesNothing(t *testing.T) {
	inFleet(t, 5, func(t *testing.T, f *fleet) {
		f.answers("nnn--")
		p := f.begun(persistent).ask()
		p.wantOutcome(quorum.Refused, false)
		p.wantTally(0, 3, 0)
		f.answer(3, "y")
		f.answer(4, "x")
		f.Thaw(3)
		f.Thaw(4)
		p.wantTally(1, 3, 1)
		p.wantOutcome(quorum.Refused, false)
		for i, late := range []bool{false, false, false, true, true} {
			if a := p.answerOf(i); a.Late != late {
				t.Errorf("master %d: %+v", i, a)
			}
		}
		p.LetGo()
	})
}

// Invariant L4: a ballot is free for its next use when every call has come back and
// its starter has let go, whichever comes last, and then once.
func TestABallotIsFreeWhenAllCallsAreBackAndItsStarterHasLetGo(t *testing.T) {
	for _, letGoFirst := range []bool{false, true} {
		inFleet(t, 3, func(t *testing.T, f *fleet) {
			f.answers("yy-")
			p := f.begun(ballot.Rules{}).ask()
			p.wantOutcome(quorum.Granted, false)
			if letGoFirst {
				p.LetGo()
			}
			p.wantHappened("", "free")
			f.wantInFlight(1)
			f.answer(2, "y")
			f.Thaw(2)
			f.wantInFlight(0)
			if !letGoFirst {
				p.wantHappened("", "free")
				p.wantTally(3, 0, 0)
				p.LetGo()
			}
			p.wantHappened("free", "free")
		})
	}
}

// Invariant L4: nothing of one use is there in the next.
func TestANextUseBeginsEmpty(t *testing.T) {
	inFleet(t, 3, func(t *testing.T, f *fleet) {
		var over group.Count
		p := f.poll()
		f.answers("12-")
		p.Begin(persistent)
		p.Tally().Votes = append(p.Tally().Votes, 0, 0)
		p.Start = drift.Runtime().Now()
		p.Agreed, p.Tell, p.Over, p.Decided = 1<<2, 1<<0|1<<1, &over, discardDecision{}
		p.SetOwn(1, getCommand("answer"))
		p.Command.Key = 7
		over.Add()
		p.send(0, time.Now().Add(time.Minute))
		synctest.Wait()
		p.Expire()
		p.LetGo()
		f.Thaw(2)

		f.answers("---")
		p.beginAgain(ballot.Rules{})
		p.wantOutcome(quorum.Open, false)
		p.wantTally(0, 0, 0)
		if n := len(p.Tally().Votes); n != 0 || p.Tally().Leads != 0 || p.Tally().Total != 3 || p.Tally().Need != 2 {
			t.Errorf("%+v", *p.Tally())
		}
		for i := range 3 {
			if a := p.answerOf(i); a != (ballot.Answer{}) {
				t.Errorf("master %d: %+v", i, a)
			}
		}
		if p.Agreed != 0 || p.Tell != 0 || p.Over != nil || p.Decided != nil || p.Start != (drift.Instant{}) ||
			len(p.Own) != 0 || len(p.Command.Encoded) != 0 || p.Command.Key != 0 || p.GivenUp() {
			t.Errorf("%+v", &p.Ballot)
		}
		// The decision of a ballot that nobody waited for wakes nobody.
		p.send(0, time.Time{})
		p.waits(20*time.Millisecond, 20*time.Millisecond)
		p.LetGo()
		f.thawAll()
		p.wantHappened("free", "free")
		if over.Load() != 0 {
			t.Errorf("%d are left", over.Load())
		}
	})
}

type discardDecision struct{}

func (discardDecision) Decided(*ballot.Ballot) {}

// An echo asks every master for a number that no other question has, and fails the
// test where a reply to another question reaches it.
type echo struct {
	ballot.Ballot
	t      *testing.T
	number string
	pool   *sync.Pool
	free   bool
}

func (e *echo) Read(c *pipeline.Call) ballot.Answer {
	if e.free {
		e.t.Error("a reply came to a ballot that is free")
	}
	if c.Err != nil {
		return ballot.Answer{Verdict: ballot.Failed, Err: c.Err}
	}
	if text, _ := c.Reply.([]byte); string(text) != e.number {
		e.t.Errorf("question %s got the reply %q", e.number, text)
	}
	return ballot.Answer{Verdict: ballot.Agreed}
}

func (e *echo) Resend(*pipeline.Call) bool { return false }
func (e *echo) Ended(*pipeline.Call)       {}

func (e *echo) Free() {
	if e.free {
		e.t.Error("a ballot is free twice")
	}
	e.free = true
	e.pool.Put(e)
}

// Invariant L4, by chance: ballots are used again while masters answer late, die and
// come back, and no reply reaches another question.
func TestNoReplyReachesAnotherQuestion(t *testing.T) {
	inFleet(t, 5, func(t *testing.T, f *fleet) {
		var pool sync.Pool
		var asking sync.WaitGroup
		var questions sync.Map
		for g := range 8 {
			asking.Go(func() {
				for n := range 60 {
					e, _ := pool.Get().(*echo)
					if e == nil {
						e = &echo{t: t, pool: &pool}
						e.Init(f.cfg, e)
						questions.Store(e, nil)
					}
					e.free, e.number = false, fmt.Sprint(g, "-", n)
					e.Begin(ballot.Rules{Persist: n%3 == 0})
					e.Command.Encoded = pipeline.AppendCommand(e.Command.Encoded[:0], "ECHO", e.number)
					keep := time.Time{}
					if n%3 == 0 {
						keep = time.Now().Add(200 * time.Millisecond)
					}
					e.Send("ECHO", 0, keep)
					if n%4 != 0 {
						_ = e.Wait(noContext, 1+rand.N(20*time.Millisecond))
					}
					e.LetGo()
					time.Sleep(1 + rand.N(3*time.Millisecond))
				}
			})
		}
		over := make(chan struct{})
		var faults sync.WaitGroup
		faults.Go(func() {
			for {
				select {
				case <-over:
					return
				case <-time.After(1 + rand.N(10*time.Millisecond)):
				}
				m := f.All[rand.N(len(f.All))]
				switch rand.N(6) {
				case 0, 1, 2:
					m.Freeze()
				case 3, 4:
					m.Thaw()
				default:
					_ = m.Restart(true)
				}
			}
		})
		asking.Wait()
		close(over)
		faults.Wait()
		for _, m := range f.All {
			m.Thaw()
		}
		time.Sleep(2 * second) // what is kept has been sent, or given up
		synctest.Wait()
		f.wantInFlight(0)
		questions.Range(func(e, _ any) bool {
			if !e.(*echo).free {
				t.Error("a ballot is not free though all its calls are over")
			}
			return true
		})
	})
}
