package waitqueue

import (
	"context"
	"strconv"
	"sync"

	"github.com/redquorum/redquorum/internal/outcome"
	"github.com/redquorum/redquorum/internal/pilot"
	"github.com/redquorum/redquorum/internal/wakeup"
)

// A reader is a call that waits for a key's lock as a reader. Readers do not get in each
// other's way: each waits by itself, and all are called at once. A client has one entry for
// all its calls among the readers that wait at a pilot.
type reader struct {
	oneKey
	at uint64 // the pilots where it shares the client's entry, as bits
}

func newReader(w *waiter) *reader { return &reader{oneKey: oneKey{w: w, pilot: pilot.None}} }

// keys implements queue.
func (q *reader) keys() []string { return []string{wakeup.ForAll + q.w.key} }

// ask implements queue.
func (q *reader) ask(ctx context.Context) event {
	w, queues := q.w, q.w.room.queues
	if bit := uint64(1) << q.pilot; q.at&bit == 0 {
		q.at |= bit
		w.room.readers.join(wakeup.Call{Master: q.pilot, Key: w.key})
	}
	return q.asked(queues.WaitToRead(ctx, q.pilot, w.key, q.position(), queues.Patience(q.pilot, w.want.Limit)))
}

// hear implements queue: whichever pilot calls, it is the readers' turn.
func (q *reader) hear(wakeup.Call) bool { return true }

// take implements queue. The pilot need not be asked alone: readers do not take votes from
// each other.
func (q *reader) take(ctx context.Context, _ bool) event {
	w := q.w
	f := w.caller.Called(ctx)
	over := w.isOver(f)
	switch {
	case f == nil:
		w.counts.collisions = 0
	case f.Kind == outcome.Taken:
		w.counts.collisions++
	}
	return w.attempted(f, over)
}

// takeTogether implements queue.
func (q *reader) takeTogether(ctx context.Context) event { return q.take(ctx, false) }

// leave implements queue. The pilot's call is over with the first of the client's calls
// that leaves: those that were called with it have tried by then, or are about to.
func (q *reader) leave() {
	q.w.listener.Leave()
	r := q.w.room
	for i := range r.cfg.Masters {
		if q.at&(1<<i) != 0 {
			r.readers.leave(r.queues, wakeup.Call{Master: i, Key: q.w.key})
		}
	}
	q.at = 0
}

// readers are the calls of a client that share its entries among the readers that wait. The
// zero value has none. It is safe for concurrent use.
type readers struct {
	lines uint64 // how many names of lines were given out

	// mu guards what follows, and lines. Commands about an entry are queued under it, which
	// does not block. So the last call that leaves does not remove the entry after the
	// question of a call that has just joined.
	mu sync.Mutex
	at map[wakeup.Call]int
}

// join adds a call, before it asks the pilot.
func (r *readers) join(place wakeup.Call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.at == nil {
		r.at = make(map[wakeup.Call]int)
	}
	r.at[place]++
}

// leave takes a call out, and with the last one the entry.
func (r *readers) leave(queues Queues, place wakeup.Call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.at[place]--; r.at[place] == 0 {
		delete(r.at, place)
	}
	queues.LeaveReaders(place.Master, place.Key, r.at[place] > 0)
}

// pass gives back a pilot's call that no reader has heard.
func (r *readers) pass(queues Queues, place wakeup.Call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	queues.LeaveReaders(place.Master, place.Key, r.at[place] > 0)
}

// name is the name of a line in which one call stands alone.
func (r *readers) name() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines++
	return wakeup.ForAll + strconv.FormatUint(r.lines, 10)
}

// line is the name of the line in which a call waits.
func (r *Room) line(want *Want) string {
	if want.Kind.Shared {
		return r.readers.name()
	}
	return want.line()
}
