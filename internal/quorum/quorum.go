// Package quorum counts what N masters answer to one question. It says when the result
// is decided: as early as possible (invariant L1).
package quorum

// Need is how many of n masters make a quorum: any two quorums share a master.
func Need(n int) int {
	return n/2 + 1
}

// A Tally counts. The zero value is of no use: set Total and Need.
type Tally struct {
	Total   int
	Need    int
	OK      int // said yes
	Refused int // said no: somebody else has the key, or ours is gone
	Failed  int // no usable answer, or not allowed to vote

	// Of a question of which each master grants one of several candidates: the
	// votes of each, and which leads, counted from 1; 0: none.
	Votes []int
	Leads int
}

// Agree counts a master that said yes, to a candidate counted from 1; 0: there is
// one. The tally is that of the candidate with most votes, and a vote for another is
// as good as a refusal: so it is decided as soon as some candidate has a quorum, or
// none can reach one any more (L1).
func (t *Tally) Agree(candidate int) {
	if len(t.Votes) == 0 {
		t.OK++
		return
	}
	t.Votes[candidate-1]++
	if t.Votes[candidate-1] > t.OK {
		t.OK++ // the others' votes stay as many as before, whichever led
		t.Leads = candidate
	} else {
		t.Refused++
	}
}

// An Outcome is what a tally has come to.
type Outcome uint8

// Outcomes. Refused and Unreachable both mean that no quorum can be had any
// more; they tell a lock that is taken from masters that are not there.
const (
	Open        Outcome = iota // not decided yet
	Granted                    // a quorum said yes
	Refused                    // too many said no, and without them a quorum were possible
	Unreachable                // failures alone rule a quorum out
)

// Outcome decides. What is still outstanding counts for neither side, so the
// first outcome that is not Open stays right whatever comes later; only
// Refused may turn out to have been Unreachable as well.
func (t *Tally) Outcome() Outcome {
	switch {
	case t.OK >= t.Need:
		return Granted
	case t.Total-t.Failed < t.Need:
		return Unreachable
	case t.Total-t.Failed-t.Refused < t.Need:
		return Refused
	default:
		return Open
	}
}

// Outstanding is how many have not answered.
func (t *Tally) Outstanding() int { return t.Total - t.OK - t.Refused - t.Failed }

// Close counts whoever has not answered as failed, at a deadline, and decides.
func (t *Tally) Close() Outcome {
	t.Failed += t.Outstanding()
	return t.Outcome()
}
