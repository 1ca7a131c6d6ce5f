package redlock

import (
	"container/heap"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/ballot"
	"github.com/redquorum/redquorum/internal/wire"
)

// A keeper looks after all held locks of a client: it renews them, and ends
// their contexts when their validity runs out. It is one goroutine with one
// timer, started with the first lock and owned by the client, whose Close stops
// it. Locks wait in a heap for their next event.
//
// Timers stand still while a machine sleeps and know nothing of a wall clock
// that was set. So while anything is held the keeper wakes at least every 50 ms
// and compares the library's clock with Go's; where they have parted it looks
// at every lock again (S7). The library's clock adds up the steps of the wall
// clock forward that it meets (drift.Cumulative), and meets each because of
// these wakings. So a step back does not hide a later one forward: not from
// the keeper, and not from what Remaining and Context().Err() compute.
type keeper struct {
	c      *Client
	base   time.Time
	anchor drift.Instant // base, on the library's clock, which is a cumulative one
	wake   chan struct{} // capacity 1
	quit   chan struct{}
	done   chan struct{}

	// Of the goroutine alone.
	underWay     int // renewals not decided yet
	mostUnderWay int

	// held is len(locks), to be read without mu.
	held atomic.Int64

	// mu guards what follows, and index of every lock. It is taken
	// last: nothing else is locked, and nothing blocks, under it.
	mu       sync.Mutex
	locks    lockHeap
	finished []*ballot.Ballot // renewals that were decided
	sleeping time.Duration    // when the goroutine will look by itself; never: when it is woken
	idle     bool             // nothing was held when it went to sleep
	running  bool
	closed   bool
}

const (
	keeperTick   = 50 * time.Millisecond
	never        = time.Duration(math.MaxInt64)
	notScheduled = -1
	// clocksPart is the difference of the two clocks that counts.
	clocksPart = 500 * time.Microsecond
)

func newKeeper(c *Client) *keeper {
	return &keeper{
		c:      c,
		base:   time.Now(),
		anchor: c.opts.clock.Now(),
		wake:   make(chan struct{}, 1),
		quit:   make(chan struct{}),
		done:   make(chan struct{}),

		mostUnderWay: c.mostUnderWay(),
	}
}

// now is the keeper's clock: Go's monotonic one.
func (k *keeper) now() time.Duration { return time.Since(k.base) }

// add takes charge of a lock that was just acquired. It reports false when the
// client is closed.
func (k *keeper) add(l *Lock, instant drift.Instant) bool {
	now := k.now()
	l.mu.Lock()
	l.planRenewal(now, instant)
	due := l.nextEvent(now, instant)
	l.mu.Unlock()

	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return false
	}
	k.locks.add(event{due, l})
	heap.Fix(&k.locks, l.index)
	k.held.Store(int64(len(k.locks)))
	if !k.running {
		k.running = true
		go k.run()
	}
	if due < k.sleeping {
		k.signal()
	}
	return true
}

// remove is for a lock that is not held any more.
func (k *keeper) remove(l *Lock) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if l.index != notScheduled {
		heap.Remove(&k.locks, l.index)
		k.held.Store(int64(len(k.locks)))
	}
}

// Decided is told of a renewal that was decided.
func (k *keeper) Decided(b *ballot.Ballot) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.finished = append(k.finished, b)
	k.signal()
}

func (k *keeper) signal() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// close takes no more locks, and returns those that are held.
func (k *keeper) close() []*Lock {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.closed = true
	return k.all()
}

// stop ends the goroutine and waits for it.
func (k *keeper) stop() {
	close(k.quit)
	k.mu.Lock()
	running := k.running
	k.mu.Unlock()
	if running {
		<-k.done
	}
}

func (k *keeper) run() {
	defer close(k.done)
	timer := time.NewTimer(never)
	defer timer.Stop()
	// Read when the keeper was made, before any lock: the clocks may part as
	// soon as one is acquired.
	anchor, anchored := k.anchor, time.Duration(0)
	for {
		for _, r := range k.takeFinished() {
			k.renewed(r.Question().(*wire.Ask))
		}
		instant, now := k.c.opts.clock.Now(), k.now()
		if instant.Sub(anchor)-(now-anchored) > clocksPart {
			anchor, anchored = instant, now
			k.lookAtAll()
		}
		for l := k.nextDue(now); l != nil; l = k.nextDue(now) {
			k.look(l)
		}
		timer.Reset(k.sleep())
		select {
		case <-k.quit:
			return
		case <-k.wake:
		case <-timer.C:
		}
	}
}

func (k *keeper) takeFinished() []*ballot.Ballot {
	k.mu.Lock()
	defer k.mu.Unlock()
	rounds := k.finished
	k.finished = nil
	return rounds
}

// nextDue gives the lock whose event came first, of those whose event has come.
// look then sets its next event, which is later than now, or removes it.
func (k *keeper) nextDue(now time.Duration) *Lock {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.locks) == 0 || k.locks[0].due > now {
		return nil
	}
	return k.locks[0].lock
}

// all gives the locks that are held. The caller must hold k.mu.
func (k *keeper) all() []*Lock {
	locks := make([]*Lock, len(k.locks))
	for i := range k.locks {
		locks[i] = k.locks[i].lock
	}
	return locks
}

func (k *keeper) lookAtAll() {
	k.mu.Lock()
	all := k.all()
	k.mu.Unlock()
	for _, l := range all {
		k.replan(l)
		k.look(l)
	}
}

// sleep says for how long the goroutine may. With nothing held it sleeps until
// a lock is added, but not before one idle tick: a program that locks and
// unlocks in a loop should not wake it every time.
func (k *keeper) sleep() time.Duration {
	now := k.now()
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.locks) == 0 && k.idle {
		k.sleeping = never
		return never
	}
	k.idle = len(k.locks) == 0
	d := keeperTick
	if !k.idle {
		d = min(d, max(0, k.locks[0].due-now))
	}
	k.sleeping = now + d
	return d
}

// schedule sets when a lock is looked at next, if it is still in the heap.
func (k *keeper) schedule(l *Lock, due time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if l.index != notScheduled {
		k.locks[l.index].due = due
		heap.Fix(&k.locks, l.index)
	}
}

// An event is when a lock has to be looked at.
type event struct {
	due  time.Duration
	lock *Lock
}

// A lockHeap orders locks by their next event. It is used under keeper.mu. It
// has the times itself: to read them from 100,000 locks was a fifth of what
// renewing these cost.
type lockHeap []event

func (h lockHeap) Len() int           { return len(h) }
func (h lockHeap) Less(i, j int) bool { return h[i].due < h[j].due }

func (h lockHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].lock.index, h[j].lock.index = i, j
}

func (h *lockHeap) Push(x any) {
	h.add(x.(event))
}

// add appends without the allocation that heap.Push makes of an event.
func (h *lockHeap) add(e event) {
	e.lock.index = len(*h)
	*h = append(*h, e)
}

func (h *lockHeap) Pop() any {
	last := len(*h) - 1
	(*h)[last].lock.index = notScheduled
	(*h)[last] = event{}
	*h = (*h)[:last]
	return nil // nobody asks
}
