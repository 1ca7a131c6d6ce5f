package pipeline

import (
	"sync"
	"time"
)

const (
	// mostUnanswered is how many calls may wait for a master that is silent. For one that
	// has much to answer, or is far away, it is QueueLimit.
	mostUnanswered = 2048
	// leastSilence is how long a master must say nothing to count as silent; four round
	// trips, if that is more.
	leastSilence = 50 * time.Millisecond
	// mostStep is how much of the time between two looks counts at most. This process may
	// have been held up, and not have read the replies.
	mostStep = 5 * time.Millisecond
)

// A backlog tells a master that answers nothing from one that has much to do. So the calls
// for a frozen master do not fill memory until the stall is noticed. It looks only while
// many calls wait.
type backlog struct {
	mu      sync.Mutex // guards all below; nothing blocks under it
	replies uint64
	seen    time.Time
	quiet   time.Duration
}

// grows reports whether too many calls wait for a silent master already; waiting is how many
// are queued or under way. It is false for calls that are kept: they are releases.
func (p *Pipeline) grows(c *Call, waiting int64) bool {
	if waiting <= mostUnanswered || !c.Keep.IsZero() || !p.serving.Load() {
		return false
	}
	roundTrip := time.Duration(p.roundTrip.Load())
	return roundTrip > 0 && p.backlog.quietFor(p.commands.Load(), time.Now()) >= max(leastSilence, 4*roundTrip)
}

// quietFor is how long the number of replies has not grown, as far as is known.
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
