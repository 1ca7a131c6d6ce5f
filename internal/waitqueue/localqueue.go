package waitqueue

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/wire"
)

// localQueues has the calls of one client that wait. Each key has one local queue, and one more
// for readers. Whatever a call wants, it waits in the local queue of one key that it could not
// get. The first to come is served first, and only the first of a local queue contends for its
// key over the network.
//
// There is no deadlock: a call that is first for one key, but is kept out by another key, moves
// to the local queue of that other key.
type localQueues struct {
	waiting atomic.Int64 // calls that wait; read without locking mu

	// mu guards what follows. Nothing blocks under it.
	mu    sync.Mutex
	came  uint64 // calls that have joined so far
	byKey map[string]*localQueue
	empty chan struct{} // closed when no call is left; nil: awaitNone does not wait
}

// A localQueue exists while a call is in it.
type localQueue struct {
	tickets []*ticket
	out     outage // only the first call uses it
}

// A ticket is one call's entry in a local queue. q.mu guards the fields that change.
type ticket struct {
	q      *localQueues
	number uint64 // by order of arrival
	key    string // of the local queue
	// signal gets a value when the ticket becomes the first of its local queue, when the lock
	// was released in this process, when a reader lets it in, and when the waiting is in vain.
	signal chan struct{}
	// calls has the pilots' calls while the ticket is the first. One may be for an earlier key.
	calls chan WakeUp
	letIn bool            // readers get in now
	err   *quorum.Failure // why the waiting is in vain
}

// mostCalls is how many calls are kept while the waiter does something else.
const mostCalls = 8

// join adds a ticket at the end of a local queue. The caller must call leave.
func (q *localQueues) join(key string) *ticket {
	p := &ticket{q: q, signal: make(chan struct{}, 1), calls: make(chan WakeUp, mostCalls)}
	q.waiting.Add(1)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.came++
	p.number = q.came
	p.enter(key)
	return p
}

// move re-queues the call in key's local queue by arrival order, but never before the first,
// which has begun to contend.
func (p *ticket) move(key string) {
	p.q.mu.Lock()
	defer p.q.mu.Unlock()
	p.exit()
	p.enter(key)
}

// leave gives up the ticket. If it was the first, the next one becomes the first.
func (p *ticket) leave() {
	q := p.q
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting.Add(-1)
	if p.exit(); len(q.byKey) == 0 && q.empty != nil {
		close(q.empty)
		q.empty = nil
	}
}

// enter joins a local queue. The caller holds q.mu.
func (p *ticket) enter(key string) {
	q := p.q
	l := q.byKey[key]
	if l == nil {
		if q.byKey == nil {
			q.byKey = make(map[string]*localQueue)
		}
		l = &localQueue{}
		q.byKey[key] = l
	}
	at := len(l.tickets)
	for at > 1 && l.tickets[at-1].number > p.number {
		at--
	}
	l.tickets, p.key = slices.Insert(l.tickets, at, p), key
}

// exit leaves the local queue. The caller holds q.mu.
func (p *ticket) exit() {
	l := p.q.byKey[p.key]
	i := slices.Index(l.tickets, p)
	l.tickets = slices.Delete(l.tickets, i, i+1)
	switch {
	case len(l.tickets) == 0:
		delete(p.q.byKey, p.key)
	case i == 0:
		l.tickets[0].wake()
	}
}

func (p *ticket) wake() {
	select {
	case p.signal <- struct{}{}:
	default:
	}
}

// isFirst reports whether the ticket is the first of its local queue. The caller holds q.mu.
func (p *ticket) isFirst() bool { return p.q.byKey[p.key].tickets[0] == p }

// A standing is the present state of a ticket.
type standing struct {
	first bool            // of the local queue
	letIn bool            // readers get in now; said once
	err   *quorum.Failure // why the waiting is in vain
}

func (p *ticket) state() standing {
	p.q.mu.Lock()
	defer p.q.mu.Unlock()
	s := standing{p.isFirst(), p.letIn, p.err}
	p.letIn = false
	return s
}

// outage returns the local queue's outage. Only the first ticket may use it.
func (p *ticket) outage() *outage {
	p.q.mu.Lock()
	defer p.q.mu.Unlock()
	return &p.q.byKey[p.key].out
}

// anybody reports whether any call waits.
func (q *localQueues) anybody() bool { return q.waiting.Load() != 0 }

// awaitNone blocks until no call is in a local queue, for limit at most. Only one goroutine may
// call it.
func (q *localQueues) awaitNone(limit time.Duration) {
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
func (q *localQueues) occupied(want *Options) (key string, yes bool) {
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

// unoccupied returns the keys for which no call waits, if the call wants one of several. For
// all other calls it returns all keys or none.
func (q *localQueues) unoccupied(want *Options) []string {
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
func (q *localQueues) wakeFirst(key string) bool {
	return q.withFirst(key, func(p *ticket) bool { p.wake(); return true })
}

// call passes on a pilot's call to the first call that waits for the key. It reports whether
// there is one that could take it.
func (q *localQueues) call(c WakeUp) bool {
	return q.withFirst(c.Key, func(p *ticket) bool {
		select {
		case p.calls <- c:
			return true
		default:
			return false
		}
	})
}

func (q *localQueues) withFirst(key string, f func(p *ticket) bool) bool {
	if !q.anybody() {
		return false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.byKey[key]
	return l != nil && f(l.tickets[0])
}

// unheard returns the pilots' calls that the waiter has not taken.
func (p *ticket) unheard() (all []WakeUp) {
	for {
		select {
		case c := <-p.calls:
			all = append(all, c)
		default:
			return all
		}
	}
}

// fail tells every other call in p's local queue that the waiting is in vain.
func (p *ticket) fail(err *quorum.Failure) {
	p.others(func(other *ticket) { other.err = err })
}

// letOthersIn tells every other call in p's local queue that readers get in now.
func (p *ticket) letOthersIn() {
	p.others(func(other *ticket) { other.letIn = true })
}

// others calls f for all other tickets in the local queue, if p is the first, and wakes them.
func (p *ticket) others(f func(other *ticket)) {
	p.q.mu.Lock()
	defer p.q.mu.Unlock()
	if !p.isFirst() {
		return
	}
	for _, other := range p.q.byKey[p.key].tickets[1:] {
		f(other)
		other.wake()
	}
}
