package ballot_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/internal/ballot"
	"github.com/redquorum/redquorum/internal/group"
	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/quorum"
)

// Ended is told of those masters' parts alone that Tell names, also where the answer
// is late, comes after a deadline, or is put off.
func TestEndedIsToldOfTheMastersThatTellNames(t *testing.T) {
	inFleet(t, 5, func(t *testing.T, f *fleet) {
		f.answers("yyy-y")
		f.kill(4)
		p := f.begun(persistent)
		p.Tell = 1<<1 | 1<<3 | 1<<4
		p.send(0, aMinute())
		synctest.Wait()
		events := strings.Split(p.happened("ended"), ", ")
		slices.Sort(events)
		if !slices.Equal(events, []string{"ended 1", "ended 4"}) {
			t.Errorf("%q", events)
		}
		p.Expire()
		f.Thaw(3)
		f.restart(4)
		events = strings.Split(p.happened("ended"), ", ")
		if want := []string{"ended 3", "ended 4"}; !slices.Equal(events[2:], want) { // put off first, then answered
			t.Errorf("%q, want %q", events[2:], want)
		}
		p.LetGo()
	})
}

// A caller that a master's answer wakes finds nothing unsent that was asked before. Masters
// that are down answer as they are asked.
func TestThoseInLastAreAskedBehindAllOthers(t *testing.T) {
	inFleet(t, 4, func(t *testing.T, f *fleet) {
		f.kill(0, 1, 2, 3)
		p := f.begun(ballot.Rules{})
		p.Last = 1<<0 | 1<<2
		p.send(0, time.Time{})
		if got := p.happened("read"); got != "read 1, read 3, read 0, read 2" {
			t.Errorf("%q", got)
		}
		p.LetGo()
	})
}

// The order in which a ballot ends: Ended of the last master, then Free, and then
// those who wait for its calls may go on.
func TestEndedComesBeforeFree(t *testing.T) {
	inFleet(t, 3, func(t *testing.T, f *fleet) {
		f.answers("yy-")
		p := f.begun(ballot.Rules{})
		var over group.Count
		over.Add()
		p.Tell, p.Over = 1<<2, &over
		p.ask()
		p.LetGo()
		if over.Load() != 1 {
			t.Error("Over is done although a master has not answered")
		}
		f.Thaw(2)
		p.wantHappened("ended 2, free", "ended", "free")
		if over.Load() != 0 {
			t.Error("Over is not done")
		}
	})
}

// Ended is told before Over falls and before Close stops waiting: whoever waits for
// either finds done what Ended does.
func TestEndedComesBeforeOver(t *testing.T) {
	inFleet(t, 3, func(t *testing.T, f *fleet) {
		f.answers("yy-")
		e := &endedSlowly{poll: f.poll(), may: make(chan struct{})}
		e.Init(f.cfg, e)
		e.Begin(ballot.Rules{})
		var over group.Count
		over.Add()
		e.Tell, e.Over = 1<<2, &over
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
		e.LetGo()
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

// Over falls when the last call is back, whether or not the starter has let go: who
// hands a lock over waits for it while it holds the ballot.
func TestOverFallsWithoutTheStarter(t *testing.T) {
	inFleet(t, 3, func(t *testing.T, f *fleet) {
		f.answers("yy-")
		p := f.begun(ballot.Rules{})
		var over group.Count
		over.Add()
		p.Over = &over
		p.ask()
		f.Thaw(2)
		if over.Load() != 0 {
			t.Error("Over waits for the starter")
		}
		p.wantHappened("", "free")
		p.LetGo()
	})
}

// Over waits for calls that are kept, too: they may still set something. Close does
// not wait for those.
func TestOverWaitsForKeptCalls(t *testing.T) {
	inFleet(t, 3, func(t *testing.T, f *fleet) {
		f.answers("yyy")
		f.kill(2)
		p := f.begun(ballot.Rules{})
		var over group.Count
		over.Add()
		p.Over = &over
		p.send(0, aMinute())
		synctest.Wait()
		f.wantInFlight(0)
		if over.Load() != 1 {
			t.Error("Over does not wait")
		}
		f.restart(2)
		if over.Load() != 0 {
			t.Error("Over is not done")
		}
		p.LetGo()
	})
}

// A list of what was decided, as a keeper has it. It is told with the ballot locked.
type decisions struct{ ballots []*ballot.Ballot }

func (d *decisions) Decided(b *ballot.Ballot) {
	if o, _ := b.Outcome(); o == quorum.Open {
		panic("it is not decided")
	}
	d.ballots = append(d.ballots, b)
}

// Decided is told instead of a waiting goroutine, once.
func TestDecidedIsToldOnce(t *testing.T) {
	for _, each := range []string{"yyy", "nnn", "xxx", "---"} {
		inFleet(t, 3, func(t *testing.T, f *fleet) {
			f.answers(each)
			var told decisions
			p := f.begun(ballot.Rules{})
			p.Decided = &told
			p.ask()
			p.Expire()
			if len(told.ballots) != 1 || told.ballots[0] != &p.Ballot {
				t.Errorf("%s: told of %v", each, told.ballots)
			}
			if q := told.ballots[0].Question(); q != ballot.Question(p) {
				t.Errorf("of %v", q)
			}
			f.thawAll()
			p.LetGo()
			p.wantHappened("free", "free")
		})
	}
}

// Replied is told of each master that was asked, with no lock held, also after the
// decision and after a deadline.
func TestRepliedIsToldOfEveryMastersPart(t *testing.T) {
	inFleet(t, 5, func(t *testing.T, f *fleet) {
		var replies [5]*ballot.Reply
		f.cfg.Replied = func(b *ballot.Ballot, r ballot.Reply) {
			b.Lock()
			defer b.Unlock()
			if replies[r.Master] != nil {
				t.Errorf("master %d: told twice", r.Master)
			}
			if r.Call.Slot != r.Master {
				t.Errorf("master %d: told of the call of %d", r.Master, r.Call.Slot)
			}
			replies[r.Master] = &r
		}
		f.answers("yn--x")
		p := f.begun(ballot.Rules{})
		p.Agreed = 1 << 4
		p.ask()
		f.answer(2, "y") // decides
		f.Thaw(2)
		f.answer(3, "y")
		f.Thaw(3)
		for i, want := range []ballot.Answer{
			{Verdict: ballot.Agreed}, {Verdict: ballot.Refused}, {Verdict: ballot.Agreed}, {Verdict: ballot.Agreed, Late: true},
		} {
			if r := replies[i]; r == nil || r.Answer != want || r.Expired {
				t.Errorf("master %d: %+v, want %+v", i, r, want)
			}
		}
		if replies[4] != nil {
			t.Errorf("%+v was not asked", replies[4])
		}
		p.LetGo()

		clear(replies[:])
		f.answers("yy---")
		p = f.begun(ballot.Rules{}).ask()
		p.Expire()
		for i := 2; i < 5; i++ {
			f.Thaw(i)
			if r := replies[i]; r == nil || !r.Expired || r.Answer.Verdict != ballot.Pending {
				t.Errorf("master %d after the deadline: %+v", i, r)
			}
		}
		p.LetGo()
	})
}
