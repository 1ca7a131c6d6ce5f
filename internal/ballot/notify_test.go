package ballot_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/internal/ballot"
	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/quorum"
)

// A caller that is woken by one of the last calls finds all other calls queued. Calls to masters
// that are down complete inside Send, so their order shows.
func TestCallsOfSendLastAreQueuedBehindAllOthers(t *testing.T) {
	inFleet(t, 4, func(t *testing.T, f *fleet) {
		f.kill(0, 1, 2, 3)
		p := f.begun(ballot.Rules{})
		p.SendLast = 1<<0 | 1<<2
		p.send(0, time.Time{})
		if got := p.happened("read"); got != "read 1, read 3, read 0, read 2" {
			t.Errorf("%q", got)
		}
		p.Done()
	})
}

// Ended is called before Over falls and before Close stops waiting: code that waits for either
// relies on what Ended does. Over does not wait for the starter's Done, because a hand-over waits
// for Over while it holds the round.
func TestEndedComesBeforeOver(t *testing.T) {
	inFleet(t, 3, func(t *testing.T, f *fleet) {
		f.answers("yy-")
		e := &endedSlowly{poll: f.poll(), may: make(chan struct{})}
		e.Init(f.cfg, e)
		e.Begin(ballot.Rules{})
		var over quorum.Count
		over.Add()
		e.Notify, e.Over = 1<<2, &over
		e.ask()
		f.Thaw(2) // Ended begins
		if over.Load() != 1 || f.cfg.InFlight.Load() != 1 {
			t.Errorf("while Ended is told: over %d, in flight %d; want 1 and 1", over.Load(), f.cfg.InFlight.Load())
		}
		close(e.may)
		synctest.Wait()
		if over.Load() != 0 || f.cfg.InFlight.Load() != 0 {
			t.Errorf("after Ended: over %d, in flight %d; want 0 and 0", over.Load(), f.cfg.InFlight.Load())
		}
		e.wantHappened("", "free")
		e.Done()
	})
}

// endedSlowly blocks in Ended, which a question must not.
type endedSlowly struct {
	*poll
	may chan struct{}
}

func (e *endedSlowly) Ended(c *pipeline.Call) {
	<-e.may
	e.poll.Ended(c)
}

// decisions lists the decided rounds, as the renewer does. Decided is called with the round locked.
type decisions struct{ ballots []*ballot.Round }

func (d *decisions) Decided(b *ballot.Round) {
	if o, _ := b.Outcome(); o == quorum.Open {
		panic("it is not decided")
	}
	d.ballots = append(d.ballots, b)
}

// Decided is called once, instead of waking a goroutine.
func TestDecidedIsCalledOnce(t *testing.T) {
	for _, each := range []string{"yyy", "---"} {
		inFleet(t, 3, func(t *testing.T, f *fleet) {
			f.answers(each)
			var decided decisions
			p := f.begun(ballot.Rules{})
			p.Decided = &decided
			p.ask()
			p.Expire()
			if len(decided.ballots) != 1 || decided.ballots[0] != &p.Round {
				t.Errorf("%s: told of %v", each, decided.ballots)
			}
			if q := decided.ballots[0].Question(); q != ballot.Question(p) {
				t.Errorf("of %v", q)
			}
			f.thawAll()
			p.Done()
			p.wantHappened("free", "free")
		})
	}
}

// Each master's part is counted once, also after the decision and after a deadline.
func TestEveryMastersPartIsCounted(t *testing.T) {
	inFleet(t, 5, func(t *testing.T, f *fleet) {
		counted := func(want ...[4]uint64) {
			t.Helper()
			for i, m := range f.cfg.Masters {
				s := m.Stats()
				if got := [4]uint64{s.Agreed, s.Refused, s.Failed, s.TimedOut}; got != want[i] {
					t.Errorf("master %d: %v agreed, refused, failed and timed out, want %v", i, got, want[i])
				}
			}
		}
		f.answers("yn--x")
		p := f.begun(ballot.Rules{})
		p.Agreed = 1 << 4
		p.ask()
		f.answer(2, "y") // decides
		f.Thaw(2)
		f.answer(3, "y")
		f.Thaw(3)
		counted([4]uint64{1}, [4]uint64{0, 1}, [4]uint64{1}, [4]uint64{1}, [4]uint64{}) // the last was not asked
		p.Done()

		f.answers("yx---")
		p = f.begun(ballot.Rules{}).ask()
		p.Expire()
		for i := 2; i < 5; i++ {
			f.Thaw(i)
		}
		counted([4]uint64{2}, [4]uint64{0, 1, 1}, [4]uint64{1, 0, 0, 1}, [4]uint64{1, 0, 0, 1}, [4]uint64{0, 0, 0, 1})
		p.Done()
	})
}
