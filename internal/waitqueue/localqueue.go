package waitqueue

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/wire"
)

// localQueues are the calls of one client that wait. Each key has one local queue, and one more
// for those that want to read. Whatever a call wants, it stands in the local queue of one key
// that is in its way. First come, first served, and only the first of a local queue contends
// over the network for its key.
//
// There is no deadlock: a call that is first for one key, but is kept out by another, moves to
// the local queue of that other key.
type localQueues struct {
	waiting atomic.Int64 // calls that wait, to find none without locking

	// mu guards what follows. Nothing blocks under it.
	mu    sync.Mutex
	came  uint64 // calls that have joined until now
	byKey map[string]*localQueue
	empty chan struct{} // closed when nobody is left; nil: nobody wants to know
}

// A localQueue exists while somebody is in it.
type localQueue struct {
	tickets []*ticket
	out     outage // the first call's; only that one touches it
}

// A ticket is one call's, in a local queue. What is not set once is guarded by q.mu.
type ticket struct {
	q      *localQueues
	number uint64 // by when it came
	key    string // of the local queue
	// signal gets a value when the ticket becomes the first of its local queue, when the lock
	// was released in this process, when a reader lets it in, and when the waiting is in vain.
	signal chan struct{}
	// calls are those of the pilots while the ticket is the first. There may be one of a key
	// before.
	calls chan WakeUp
	letIn bool            // readers get in now
	err   *quorum.Failure // why the waiting is in vain
}

// mostCalls is how many calls are heard while the waiter does something else.
const mostCalls = 8

// join takes the last ticket in a local queue. The caller must call leave.
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

// leave gives up the ticket. Where it was the first, the next one becomes the first.
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

// A standing is what has become of a ticket.
type standing struct {
	first bool            // of the local queue
	letIn bool            // readers get in now; said once
	err   *quorum.Failure // why the waiting is in vain
}

// state says what has become of the ticket.
func (p *ticket) state() standing {
	p.q.mu.Lock()
	defer p.q.mu.Unlock()
	s := standing{p.isFirst(), p.letIn, p.err}
	p.letIn = false
	return s
}

// outage counts for the first of a local queue. Only that one may use it.
func (p *ticket) outage() *outage {
	p.q.mu.Lock()
	defer p.q.mu.Unlock()
	return &p.q.byKey[p.key].out
}

// anybody reports whether anybody waits for anything.
func (q *localQueues) anybody() bool { return q.waiting.Load() != 0 }

// awaitNone blocks until nobody is in a local queue, for limit at most. Only one goroutine may call it.
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

// unoccupied is the keys of several for which nobody waits, of one of which a call may do with.
// For all other calls it is all keys or none.
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
// there is one, and whether it can hear it.
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

// unheard is the calls that the waiter has not heard.
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

// fail tells every call in p's local queue that the waiting is in vain.
func (p *ticket) fail(err *quorum.Failure) {
	p.others(func(other *ticket) { other.err = err })
}

// letOthersIn tells every call in p's local queue that readers get in now.
func (p *ticket) letOthersIn() {
	p.others(func(other *ticket) { other.letIn = true })
}

// others does something to all others in the local queue of which p is the first, and wakes them.
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
