package ballot

import (
	"time"

	"github.com/redquorum/redquorum/internal/pipeline"
)

// A Question is what a round asks. The pipelines' goroutines call its methods, which must not
// block.
type Question interface {
	// Read says what a reply means, or the lack of one (Call.Err). It is called with the
	// round locked, once for each master, and not after the deadline.
	Read(c *pipeline.Call) Answer
	// Resend may send a call again, with Round.Resend, after an error reply, or after the
	// master has refused it together with others (Call.BatchRefused). It returns false if the
	// reply is the master's answer.
	Resend(c *pipeline.Call) bool
	// Ended is called with no lock held when a master's part has ended, and also when its call has
	// only failed for now (Answer.Delayed). It is called only for the masters in Request.Notify.
	Ended(c *pipeline.Call)
	// Free is called when no part of the round is in use any more: it may be used again at once.
	Free()
}

// A Verdict is what one master's answer means for the question.
type Verdict uint8

// Verdicts.
const (
	Pending Verdict = iota
	Agreed
	Refused // another holds the key, or ours is gone
	Failed  // no usable answer, or the master may not vote
)

// An Answer is one master's part.
type Answer struct {
	Verdict   Verdict
	Delayed   bool          // failed for now: kept for a later connection, or sent again after a pause
	Unawaited bool          // the client's Close does not wait for it
	Unsent    bool          // the call came back and the master never saw it
	Late      bool          // came after the decision
	Took      time.Duration // since the question was sent; 0 unless Config.Timed
	Err       error         // why it failed
}
