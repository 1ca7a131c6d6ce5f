package voters

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/quorum"
)

// An answer is a vote only if it comes by the connection that was judged and the marker is still as
// it was judged. The question must have been asked after the right to vote was gained.
func TestAnAnswerIsAVoteOnlyAsJudged(t *testing.T) {
	const mark = "the marker"
	clock := drift.NewFake(time.Unix(1e9, 0))
	var at [4]drift.Instant // a second apart
	for i := range at {
		clock.Advance(time.Second)
		at[i] = clock.Now()
	}
	quarantined := &guard.AbstainError{Cause: guard.Quarantined, Left: 2 * time.Second}
	unread := &guard.AbstainError{Cause: guard.Unreadable}
	for name, test := range map[string]struct {
		j     voteState
		epoch uint64
		mark  string
		asked drift.Instant
		want  guard.Cause // "": it counts
	}{
		"as judged":                   {voteState{epoch: 7, mark: mark}, 7, mark, at[0], ""},
		"another connection":          {voteState{epoch: 7, mark: mark}, 8, mark, at[0], guard.Unmarked},
		"no connection":               {voteState{mark: mark}, 0, mark, at[0], guard.Unmarked},
		"another marker":              {voteState{epoch: 7, mark: mark}, 7, mark + "s", at[0], guard.Changed},
		"the check failed":            {voteState{epoch: 7, mark: mark}, 7, "", at[0], guard.Changed},
		"unguarded":                   {voteState{epoch: 7}, 7, "", at[0], ""},
		"may not vote":                {voteState{epoch: 7, mark: mark, reason: &guard.AbstainError{Cause: guard.MayEvict}}, 7, mark, at[0], guard.MayEvict},
		"INFO is denied":              {voteState{epoch: 7, mark: mark, reason: unread}, 7, mark, at[0], guard.Unreadable},
		"INFO is permitted again":     {voteState{epoch: 7, mark: mark, reason: unread}, 7, mark + "s", at[0], guard.Changed},
		"in quarantine":               {voteState{epoch: 7, mark: mark, reason: quarantined, at: at[0], left: 2 * time.Second}, 7, mark, at[1], guard.Quarantined},
		"after it":                    {voteState{epoch: 7, mark: mark, reason: quarantined, at: at[0], left: 2 * time.Second}, 7, mark, at[2], ""},
		"after it, emptied":           {voteState{epoch: 7, mark: mark, reason: quarantined, at: at[0], left: 2 * time.Second}, 7, "", at[2], guard.Changed},
		"asked in it, answered after": {voteState{epoch: 7, mark: mark, at: at[0], left: 2 * time.Second}, 7, mark, at[1], guard.Unmarked},
		"asked and answered after":    {voteState{epoch: 7, mark: mark, at: at[0], left: 2 * time.Second}, 7, mark, at[3], ""},
		"asked before a twin lost it": {voteState{epoch: 7, mark: mark, from: at[1]}, 7, mark, at[0], guard.Unmarked},
		"asked when the twin lost it": {voteState{epoch: 7, mark: mark, from: at[1]}, 7, mark, at[1], ""},
		"refuses what the lock needs": {voteState{epoch: 7, refused: guard.Refused{Commands: 2}}, 7, "", at[0], guard.Forbidden},
		"refuses what others need":    {voteState{epoch: 7, refused: guard.Refused{Commands: 4}}, 7, "", at[0], ""},
	} {
		g := &Monitor{cfg: Config{Group: &quorum.Group{Clock: clock}}, masters: make([]masterState, 1), voteStates: make([]atomic.Pointer[voteState], 1)}
		g.voteStates[0].Store(&test.j)
		why := g.Abstains(0, &pipeline.Call{Epoch: test.epoch, Checked: &pipeline.Checked{Mark: test.mark}}, test.asked, 3)
		var got guard.Cause
		if why != nil {
			got = why.Cause
		}
		if got != test.want {
			t.Errorf("%s: %q, want %q (\"\": it counts)", name, got, test.want)
		}
	}
}
