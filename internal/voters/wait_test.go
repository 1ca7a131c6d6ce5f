package voters

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/quorum"
)

// Begins closes its channel each time that a quorum begins to vote, and at no other time.
func TestBeginsReportsWhenAQuorumBeginsToVote(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.Kill(0, 1, 2)
		g := New(Config{
			Group: &quorum.Group{Masters: f.Pipelines(nil), Need: fleetOf/2 + 1, Clock: drift.Runtime(), Closing: context.Background()},
			Guard: guard.Config{Level: guard.Off},
		})
		defer g.Close()
		begins := g.Begins(time.Now())
		begun := func() bool {
			f.T.Helper()
			time.Sleep(3 * time.Second) // connections are lost, or made
			synctest.Wait()
			select {
			case <-begins:
				begins = g.Begins(time.Now())
				return true
			default:
				return false
			}
		}
		for _, step := range []struct {
			what string
			do   func()
			want bool
		}{
			{"all come for the first time", func() { f.Restart(true, 0, 1, 2) }, true},
			{"one goes", func() { f.Kill(0) }, false},
			{"it comes back", func() { f.Restart(true, 0) }, false},
			{"two go", func() { f.Kill(0, 1) }, false},
			{"one of them comes back", func() { f.Restart(true, 0) }, true},
			{"the other comes back", func() { f.Restart(true, 1) }, false},
		} {
			step.do()
			if got := begun(); got != step.want {
				t.Errorf("%s: told %v, want %v", step.what, got, step.want)
			}
		}
	})
}

// A quorum also begins when masters answer again that stood still on a living connection, and when
// a quarantine ends, without a look or a vote.
func TestAQuorumBeginsWithAnswersAndWithTheEndOfAQuarantine(t *testing.T) {
	inFleet(t, func(f *fleet) {
		g, _, end := f.watch(f.Dialer())
		defer end()
		begun := func(c <-chan struct{}) bool {
			synctest.Wait()
			select {
			case <-c:
				return true
			default:
				return false
			}
		}
		begins := g.Begins(time.Now())
		f.Freeze(0, 1)
		g.mu.Lock()
		for i := range 2 { // PINGs: the answer to a look would itself make the Monitor judge
			q := g.newInquiry(i, askLook, 1)
			q.add("PING")
			g.send = append(g.send, q)
		}
		g.unlock()
		time.Sleep(700 * time.Millisecond)
		if begun(begins) {
			t.Error("a quorum begins with masters that stand still")
		}
		f.Thaw(0, 1)
		if !begun(begins) {
			t.Error("no quorum begins with their answers")
		}
		if epoch := g.voteStates[0].Load().epoch; epoch != 1 {
			t.Errorf("they were dialled again, %d times", epoch-1)
		}

		begins = g.Begins(time.Now().Add(1))
		f.Kill(0, 1)
		f.Restart(true, 0, 1)
		time.Sleep(3 * time.Second)
		standings := g.Standings()
		if !standings[0].Vote && !standings[1].Vote && begun(begins) {
			t.Error("a quorum begins with masters in quarantine")
		}
		time.Sleep(min(standings[0].Why.Left, standings[1].Why.Left))
		time.Sleep(time.Millisecond)
		if !begun(begins) {
			t.Errorf("no quorum begins with the end of the quarantine: %v", g.Standings())
		}
		if begun(g.Begins(time.Now())) || !begun(g.Begins(time.Now().Add(-time.Second))) {
			t.Error("it is not known since when a quorum votes")
		}
	})
}
