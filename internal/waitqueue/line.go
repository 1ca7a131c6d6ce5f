package waitqueue

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/wire"
)

// lines are the calls of one client that wait. Each key has one line, and one more for those
// that want to read. Whatever a call wants, it stands in the line of one key that is in its
// way. First come, first served, and only the first of a line contends over the network for
// its key.
//
// There is no deadlock: who is first for a key that it cannot use yet, since another one is
// in its way, moves to the line of that one.
type lines struct {
	waiting atomic.Int64 // calls that wait, to find none without locking

	// mu guards what follows. Nothing blocks under it.
	mu    sync.Mutex
	came  uint64 // calls that have joined until now
	byKey map[string]*line
	empty chan struct{} // closed when nobody is left; nil: nobody wants to know
}

// A line exists while somebody is in it.
type line struct {
	places []*place
	out    outage // the first call's; only that one touches it
}

// A place is one call's, in a line. What is not set once is guarded by q.mu.
type place struct {
	q      *lines
	number uint64 // by when it came
	key    string // of the line
	// signal gets a value when the place becomes the first of its line, when the lock was
	// released in this process, when a reader lets it in, and when the waiting is in vain.
	signal chan struct{}
	// calls are those of the pilots while the place is the first. There may be one of a key
	// before.
	calls chan WakeUp
	letIn bool            // readers get in now
	err   *quorum.Failure // why the waiting is in vain
}

// mostCalls is how many calls are heard while the waiter does something else.
const mostCalls = 8

// join takes the last place in a line. The caller must call leave.
func (q *lines) join(key string) *place {
	p := &place{q: q, signal: make(chan struct{}, 1), calls: make(chan WakeUp, mostCalls)}
	q.waiting.Add(1)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.came++
	p.number = q.came
	p.enter(key)
	return p
}

// move leaves the line for that of another key: behind the first there, who has begun, and
// otherwise by when the call came. A call that moves would else wait for longest.
func (p *place) move(key string) {
	p.q.mu.Lock()
	defer p.q.mu.Unlock()
	p.exit()
	p.enter(key)
}

// leave gives up the place. Where it was the first, the next one becomes the first.
func (p *place) leave() {
	q := p.q
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting.Add(-1)
	if p.exit(); len(q.byKey) == 0 && q.empty != nil {
		close(q.empty)
		q.empty = nil
	}
}

// enter joins a line. The caller holds q.mu.
func (p *place) enter(key string) {
	q := p.q
	l := q.byKey[key]
	if l == nil {
		if q.byKey == nil {
			q.byKey = make(map[string]*line)
		}
		l = &line{}
		q.byKey[key] = l
	}
	at := len(l.places)
	for at > 1 && l.places[at-1].number > p.number {
		at--
	}
	l.places, p.key = slices.Insert(l.places, at, p), key
}

// exit leaves the line. The caller holds q.mu.
func (p *place) exit() {
	l := p.q.byKey[p.key]
	i := slices.Index(l.places, p)
	l.places = slices.Delete(l.places, i, i+1)
	switch {
	case len(l.places) == 0:
		delete(p.q.byKey, p.key)
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

// isFirst reports whether the place is the first of its line. The caller holds q.mu.
func (p *place) isFirst() bool { return p.q.byKey[p.key].places[0] == p }

// A standing is what has become of a place.
type standing struct {
	first bool            // of the line
	letIn bool            // readers get in now; said once
	err   *quorum.Failure // why the waiting is in vain
}

// state says what has become of the place.
func (p *place) state() standing {
	p.q.mu.Lock()
	defer p.q.mu.Unlock()
	s := standing{p.isFirst(), p.letIn, p.err}
	p.letIn = false
	return s
}

// outage counts for the first of a line. Only that one may use it.
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

// occupied reports whether a call would wait behind others, and for which of its keys.
func (q *lines) occupied(want *Want) (key string, yes bool) {
	if !q.anybody() {
		return "", false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, key := range want.Keys {
		if q.byKey[key] != nil || want.Kind == wire.Reader && q.byKey[ReadersPrefix+key] != nil {
			return key, true
		}
	}
	return "", false
}

// unoccupied is the keys of several for which nobody waits, of one of which a call may do with.
// For all other calls it is all keys or none.
func (q *lines) unoccupied(want *Want) []string {
	if !want.oneOf() {
		if _, occupied := q.occupied(want); occupied {
			return nil
		}
		return want.Keys
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(want.Keys), func(key string) bool { return q.byKey[key] != nil })
}

// wakeFirst wakes the first call that waits for the key. It reports whether there is one.
func (q *lines) wakeFirst(key string) bool {
	return q.withFirst(key, func(p *place) bool { p.wake(); return true })
}

// call passes on a pilot's call to the first call that waits for the key. It reports whether
// there is one, and whether it can hear it.
func (q *lines) call(c WakeUp) bool {
	return q.withFirst(c.Key, func(p *place) bool {
		select {
		case p.calls <- c:
			return true
		default:
			return false
		}
	})
}

func (q *lines) withFirst(key string, f func(p *place) bool) bool {
	if !q.anybody() {
		return false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.byKey[key]
	return l != nil && f(l.places[0])
}

// unheard is the calls that the waiter has not heard.
func (p *place) unheard() (all []WakeUp) {
	for {
		select {
		case c := <-p.calls:
			all = append(all, c)
		default:
			return all
		}
	}
}

// fail tells every call in p's line that the waiting is in vain.
func (p *place) fail(err *quorum.Failure) {
	p.others(func(other *place) { other.err = err })
}

// letOthersIn tells every call in p's line to come along: readers get in now.
func (p *place) letOthersIn() {
	p.others(func(other *place) { other.letIn = true })
}

// others does something to all others in the line of which p is the first, and wakes them.
func (p *place) others(f func(other *place)) {
	p.q.mu.Lock()
	defer p.q.mu.Unlock()
	if !p.isFirst() {
		return
	}
	for _, other := range p.q.byKey[p.key].places[1:] {
		f(other)
		other.wake()
	}
}
