package ballot

import (
	"time"

	"github.com/redquorum/redquorum/internal/pipeline"
)

// A patience counts how long a round has waited for the masters, in steps. If a step lasts longer
// than its timer was set for, this process was held up, not the masters: their answers may lie
// unread in its sockets, or the question unwritten in its queues. So a step never counts for more
// than its timer. A timer that came late does not end the wait, unless twice the limit is over.
type patience struct {
	remaining time.Duration // of the limit
	step      time.Duration // what the timer is set for
	due       time.Time     // when the step ends
	end       time.Time     // when the wait ends in any case
}

// begin returns the first step of a wait of limit.
func (p *patience) begin(now time.Time, limit time.Duration) time.Duration {
	p.remaining, p.end = limit, now.Add(2*limit)
	return p.set(now, min(limit, closeTick))
}

// next returns the step that follows; 0: the wait is over.
func (p *patience) next(now time.Time) time.Duration {
	late := now.Sub(p.due)
	p.remaining -= p.step
	step := min(p.remaining, closeTick)
	if step <= 0 && late > pipeline.MostLate {
		step = min(late, closeTick)
		p.remaining = step
	}
	return p.set(now, min(step, p.end.Sub(now)))
}

func (p *patience) set(now time.Time, step time.Duration) time.Duration {
	p.step, p.due = step, now.Add(step)
	return max(step, 0)
}
