package pipeline

import (
	"sync"
	"time"
)

const (
	// mostUnanswered is how many calls may wait for a master that is silent.
	// Those that have much to answer, or are far away, may have QueueLimit.
	mostUnanswered = 2048
	// leastSilence is how long a master has said nothing that is silent; or four
	// round trips, if that is more.
	leastSilence = 50 * time.Millisecond
	// mostStep is what counts of the time between two looks. This process may
	// have been held up as well as the master, and not have read what has come.
	mostStep = 5 * time.Millisecond
)

// A backlog tells a master that answers nothing from one that has much to do, so
// that what waits for one that is frozen, and its callers' rounds with it, does not
// fill memory until the stall is noticed. It looks only while much is waiting.
type backlog struct {
	mu      sync.Mutex // guards all below; nothing blocks under it
	replies uint64
	seen    time.Time
	quiet   time.Duration
}

// grows reports whether a call would add to too many that wait for a silent master,
// where so many are queued or under way already. Calls that are kept may: they
// are releases.
func (p *Pipeline) grows(c *Call, waiting int64) bool {
	if waiting <= mostUnanswered || !c.Keep.IsZero() || !p.serving.Load() {
		return false
	}
	roundTrip := time.Duration(p.roundTrip.Load())
	return roundTrip > 0 && p.backlog.quietFor(p.commands.Load(), time.Now()) >= max(leastSilence, 4*roundTrip)
}

// quietFor is for how long there have been no more replies than so many, as far as
// can be told.
func (b *backlog) quietFor(replies uint64, now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if replies != b.replies {
		b.replies, b.quiet = replies, 0
	} else {
		b.quiet += min(now.Sub(b.seen), mostStep)
	}
	b.seen = now
	return b.quiet
}
