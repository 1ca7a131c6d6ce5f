// Package quorum counts what N masters answer to one question. It says when the result
// is decided: as early as possible (invariant L1).
package quorum

// Need is how many of n masters make a quorum: any two quorums share a master.
func Need(n int) int {
	return n/2 + 1
}

// A Tally counts answers. Total and Need must be set before use.
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

// Agree counts a master that agreed to a candidate. Candidates count from 1; 0 means that
// there is only one. OK is the count of the candidate with most votes. A vote for another
// candidate counts as a refusal. So the tally is decided as soon as a candidate has a
// quorum, or none can reach one any more (L1).
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

// An Outcome is the result of a tally.
type Outcome uint8

// Outcomes. Refused and Unreachable both mean that a quorum is impossible. Refused: the
// lock is held. Unreachable: too many masters failed.
const (
	Open        Outcome = iota // not decided yet
	Granted                    // a quorum said yes
	Refused                    // too many said no, and without them a quorum were possible
	Unreachable                // failures alone rule a quorum out
)

// Outcome decides. Outstanding answers count for neither side. So the first outcome that
// is not Open remains true whatever answers follow, except that Refused may turn out to
// be Unreachable as well.
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

// Outstanding returns how many masters have not answered.
func (t *Tally) Outstanding() int { return t.Total - t.OK - t.Refused - t.Failed }

// Close is called at a deadline. It counts masters without an answer as failed, and decides.
func (t *Tally) Close() Outcome {
	t.Failed += t.Outstanding()
	return t.Outcome()
}
