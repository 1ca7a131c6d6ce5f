// Package quorum treats N masters as one, and asks them nothing. It says how many answers decide,
// and when (invariant L1), has the plain facts of a failure, chooses the pilot of each key, and
// holds what all rooms of a client have in common.
package quorum

// Need returns how many of n masters make a quorum: any two quorums share a master.
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
}

// An Outcome is the result of a tally.
type Outcome uint8

// Outcomes. Refused and Unreachable both mean that a quorum is impossible. Refused: the
// lock is held. Unreachable: too many masters failed.
const (
	Open        Outcome = iota // not decided yet
	Granted                    // a quorum said yes
	Refused                    // no quorum, because masters said no
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

// Gone reports whether the refusals alone rule a quorum out. open: they do not yet, but may when
// the outstanding answers have come.
func (t *Tally) Gone() (gone, open bool) {
	gone = t.Total-t.Refused < t.Need
	return gone, !gone && t.Total-t.Refused-t.Outstanding() < t.Need
}

// Close is called at a deadline. It counts masters without an answer as failed, and decides.
func (t *Tally) Close() Outcome {
	t.Failed += t.Outstanding()
	return t.Outcome()
}
