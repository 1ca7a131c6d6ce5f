package ballot_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/ballot"
	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/quorum"
)

// A master with a command of its own gets that text, with the other fields of the common command.
// The other masters get the common command.
func TestAMasterGetsTheCommandOfItsOwn(t *testing.T) {
	inFleet(t, 3, func(t *testing.T, f *fleet) {
		f.answers("yyy")
		f.answer(1, "n")
		if err := f.All[1].Set("other", "y", 0); err != nil {
			t.Fatal(err)
		}
		f.guarded()
		p := f.begun(ballot.Rules{All: true, Votes: true})
		p.Start = drift.Runtime().Now()
		own, keep := getCommand("other"), aMinute()
		p.SetOwn(1, own)
		p.Command.Key = 7
		p.send(0, keep)
		synctest.Wait()
		p.wantTally(3, 0, 0)
		if own.Owner != pipeline.Owner(&p.Round) || !own.RetryUntil.Equal(keep) || own.Key != 7 {
			t.Errorf("%+v", own)
		}
		if own.Check == nil || own.Check != p.Command.Check || !own.Vote {
			t.Errorf("its answer is no vote as those of others: %+v", own)
		}
		p.Done()

		f.answers("yyn")
		p.beginAgain(everyone)
		p.ask()
		p.wantTally(2, 1, 0) // the own command of the first use is gone
		p.Done()
	})
}

// An answer after which Question.Resend has sent the call again does not count: the master's part
// is read once, from its last answer.
func TestAQuestionThatIsSentAgainIsAnsweredOnce(t *testing.T) {
	const source = "return redis.call('GET', KEYS[1])"
	const unknown = "0123456789012345678901234567890123456789"
	inFleet(t, 3, func(t *testing.T, f *fleet) {
		f.answers("ynn")
		p := f.begun(persistent)
		p.resend = func(c *pipeline.Call) bool {
			p.note("resend", c.Slot)
			if !pipeline.IsNoScript(c.Err) || c.Slot == 2 {
				return false
			}
			p.Round.Resend(c, c.With("EVAL", pipeline.EvalOf(c.Encoded, source)))
			return true
		}
		p.Notify = 1<<0 | 1<<1 | 1<<2
		p.Command.Encoded = pipeline.AppendCommand(nil, "EVALSHA", unknown, 1, "answer")
		p.Send("EVALSHA", 0, time.Time{})
		p.waits(second, 0)
		synctest.Wait()
		p.wantOutcome(quorum.Refused, false)
		p.wantTally(1, 1, 1)
		if n := strings.Count(p.happened("resend"), "resend"); n != 3 {
			t.Errorf("it was asked %d times whether to send again", n)
		}
		for _, kind := range []string{"read", "ended"} {
			if n := strings.Count(p.happened(kind), kind); n != 3 {
				t.Errorf("%d of %s: want one of each master", n, kind)
			}
		}
		if a := p.answerOf(2); a.Verdict != ballot.Failed || !pipeline.IsNoScript(a.Err) || a.Unsent {
			t.Errorf("%+v", a)
		}
		f.wantInFlight(0)
		p.Done()
		p.wantHappened("free", "free")
	})
}
