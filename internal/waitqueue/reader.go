package waitqueue

import (
	"context"

	"github.com/redquorum/redquorum/internal/quorum"
)

// A reader is a call that waits for a key's lock as a reader. The first of the readers' local
// queue has the client's place among the readers that wait at the pilot. Readers do not exclude
// each other: when it is their turn, all calls of the local queue try at once.
type reader struct{ oneKey }

// localQueue implements queue.
func (q *reader) localQueue() string { return ReadersPrefix + q.w.key }

// ask implements queue.
func (q *reader) ask(ctx context.Context) event {
	w, queues := q.w, q.w.room.cfg.Queues
	q.queued.Add(q.pilot)
	return q.asked(queues.WaitToRead(ctx, q.pilot, w.key, q.position(), queues.Patience(q.pilot, w.want.Limit)))
}

// hear implements queue: whichever pilot calls, it is the readers' turn.
func (q *reader) hear(WakeUp) bool { return true }

// take implements queue. It does not ask the pilot alone, because readers do not take votes from
// each other. The others of the local queue follow at once, unless their last turn failed: then
// they follow when the first has the lock.
func (q *reader) take(ctx context.Context, _ bool) event {
	w := q.w
	if w.counts.collisions == 0 {
		w.ticket.letOthersIn()
	}
	f := w.attempter.Called(ctx)
	over := w.isOver(f)
	switch {
	case f == nil:
		w.counts.collisions = 0
	case f.Kind == quorum.Taken:
		w.counts.collisions++
	}
	return w.attempted(f, over)
}

// takeTogether implements queue.
func (q *reader) takeTogether(ctx context.Context) event { return q.take(ctx, false) }
