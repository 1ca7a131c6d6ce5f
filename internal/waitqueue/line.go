package waitqueue

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redquorum/redquorum/internal/outcome"
)

// lines are the calls of one client that wait, in one line for each thing that they wait
// for: first come, first served. Only the first of a line contends over the network.
type lines struct {
	waiting atomic.Int64 // calls that wait, to find none without locking

	// mu guards what follows. Nothing blocks under it.
	mu    sync.Mutex
	byKey map[string]*line
	empty chan struct{} // closed when nobody is left; nil: nobody wants to know
}

// A line is the queue of one key. It exists while somebody is in it.
type line struct {
	places []*place
	out    outage // the first call's; only that one touches it
}

// A place is one call's, in a line.
type place struct {
	q   *lines
	key string // of the line
	// signal gets a value when the place becomes the first, when the lock was released in
	// this process, and when the waiting is in vain.
	signal chan struct{}
	err    *outcome.Failure // why the waiting is in vain; guarded by q.mu
}

// join takes the last place in the line of a key. The caller must call leave.
func (q *lines) join(key string) *place {
	p := &place{q: q, key: key, signal: make(chan struct{}, 1)}
	q.waiting.Add(1)
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.byKey[key]
	if l == nil {
		if q.byKey == nil {
			q.byKey = make(map[string]*line)
		}
		l = &line{}
		q.byKey[key] = l
	}
	l.places = append(l.places, p)
	return p
}

// leave gives up the place. If it was the first, the next one becomes the first.
func (p *place) leave() {
	q := p.q
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting.Add(-1)
	l := q.byKey[p.key]
	i := slices.Index(l.places, p)
	l.places = slices.Delete(l.places, i, i+1)
	switch {
	case len(l.places) == 0:
		if delete(q.byKey, p.key); len(q.byKey) == 0 && q.empty != nil {
			close(q.empty)
			q.empty = nil
		}
	case i == 0:
		l.places[0].wake()
	}
}

func (p *place) wake() {
	select {
	case p.signal <- struct{}{}:
	default:
	}
}

// state reports whether the place is the first in its line, and why the waiting
// is in vain, if it is.
func (p *place) state() (first bool, err *outcome.Failure) {
	p.q.mu.Lock()
	defer p.q.mu.Unlock()
	return p.q.byKey[p.key].places[0] == p, p.err
}

// outage counts for the first of the line. Only that one may use it.
func (p *place) outage() *outage {
	p.q.mu.Lock()
	defer p.q.mu.Unlock()
	return &p.q.byKey[p.key].out
}

// anybody reports whether anybody waits for anything.
func (q *lines) anybody() bool { return q.waiting.Load() != 0 }

// awaitNone blocks until nobody is in a line, for limit at most. Only one goroutine may call it.
func (q *lines) awaitNone(limit time.Duration) {
	q.mu.Lock()
	if len(q.byKey) == 0 {
		q.mu.Unlock()
		return
	}
	empty := make(chan struct{})
	q.empty = empty
	q.mu.Unlock()
	t := time.NewTimer(max(limit, 1))
	defer t.Stop()
	select {
	case <-empty:
	case <-t.C:
	}
}

// occupied reports whether anybody waits for the same.
func (q *lines) occupied(want *Want) bool {
	if !q.anybody() {
		return false
	}
	name := want.line()
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.byKey[name] != nil
}

// wakeFirst wakes the first call that waits for the key. It reports whether there is one.
func (q *lines) wakeFirst(key string) bool {
	if !q.anybody() {
		return false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.byKey[key]
	if l == nil {
		return false
	}
	l.places[0].wake()
	return true
}

// fail tells every call in p's line that the waiting is in vain.
func (p *place) fail(err *outcome.Failure) {
	p.q.mu.Lock()
	defer p.q.mu.Unlock()
	for _, other := range p.q.byKey[p.key].places {
		other.err = err
		other.wake()
	}
}
