package waitqueue

import (
	"slices"
	"testing"
	"testing/synctest"

	"github.com/redquorum/redquorum/internal/quorum"
)

// behindOne puts a reader behind another one, which has let it in.
func (f *fake) behindOne() {
	f.w.ticket.leave()
	first := f.w.room.localQueues.join(f.w.queue.localQueue())
	f.w.ticket = f.w.room.localQueues.join(f.w.queue.localQueue())
	f.w.listener, f.w.out = nil, nil
	first.letOthersIn()
}

// Readers do not exclude each other. So when it is their turn, all of a local queue try at once,
// not one after the other. After a turn without success, the first tries alone.
func TestAllReadersOfALocalQueueTryInOneTurn(t *testing.T) {
	for name, test := range map[string]struct {
		from       state
		collisions int
		fails      bool
		along      bool // before it is known whether the first gets in
	}{
		"called":                           {signaled, 0, false, true},
		"its turn":                         {myTurn, 0, false, true},
		"a turn that comes to nothing":     {signaled, 0, true, true},
		"its turn after one for nothing":   {myTurn, 1, false, false},
		"another turn that is for nothing": {myTurn, 1, true, false},
		"it doubts the pilot":              {rechecking, 0, false, false},
		"it has no pilot":                  {polling, 0, false, false},
		"it has no pilot, and fails":       {polling, 0, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := begun(t, readWanted)
				defer f.cancel()
				next := []*ticket{f.w.room.localQueues.join(ReadersPrefix + "p:a"), f.w.room.localQueues.join(ReadersPrefix + "p:a")}
				writer := f.w.room.localQueues.join("p:a")
				let := func() bool {
					all := slices.DeleteFunc(slices.Clone(next), func(p *ticket) bool { return !p.letIn || len(p.signal) != 1 })
					if len(all)%len(next) != 0 || writer.letIn || f.w.ticket.letIn {
						t.Error("one of them is let in, or a writer, or the first itself")
					}
					return len(all) > 0
				}
				if f.w.counts.collisions = test.collisions; test.fails {
					f.all = &quorum.Failure{Kind: quorum.Taken, Need: 1, Total: 2}
				}
				f.w.state = test.from
				f.w.state = f.w.state.after(f.w.act(f.ctx))
				if along := let(); along != test.along {
					t.Errorf("the others come along: %v, want %v", along, test.along)
				}
				if f.w.end(); let() == (test.fails && !test.along) {
					t.Errorf("it is in: %v, and the others come: %v", !test.fails, let())
				}
			})
		})
	}
}
