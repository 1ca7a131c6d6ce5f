package hold

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

// A renewer looks after all holds of a client: it renews them, ends their contexts when
// their validity runs out, and later releases the keys that lost holds may have left. It
// is one goroutine with one timer. The first hold starts it; Manager.Stop ends it. Holds wait
// in a heap for their next event.
//
// Timers stand still while a machine sleeps, and do not notice that a wall clock was set.
// So while anything is held the renewer wakes at least every 50 ms and compares the
// library's clock with Go's. Where the two differ, it looks at every hold again (S7). The
// library's clock (drift.Cumulative) adds up all steps forward of the wall clock; because
// the renewer reads it so often, it sees each of them. So a step back does not hide a later
// step forward, neither from the renewer nor from Remaining and Context().Err().
type renewer struct {
	manager *Manager
	base    time.Time
	anchor  drift.Instant // base, on the library's clock, which is a cumulative one
	wake    chan struct{} // capacity 1
	quit    chan struct{}
	done    chan struct{}

	// Of the goroutine alone.
	underWay     int // renewals not decided yet
	mostUnderWay int

	// held is how many of holds are not lost, to be read without mu.
	held atomic.Int64

	// mu guards what follows, and the index of every hold. It is locked after a hold's mutex.
	// Under it nothing else is locked, and nothing blocks.
	mu       sync.Mutex
	holds    schedule
	finished []*ballot.Round // renewals that were decided
	sleeping time.Duration   // when the goroutine wakes by itself; never: it has to be woken
	idle     bool            // nothing was held when it went to sleep
	running  bool
	closed   bool
}

const (
	renewerTick = 50 * time.Millisecond
	never       = time.Duration(math.MaxInt64)
	// clocksPart is the difference between the two clocks from which on they differ.
	clocksPart = 500 * time.Microsecond
)

func newRenewer(manager *Manager) *renewer {
	return &renewer{
		manager: manager,
		base:    time.Now(),
		anchor:  manager.now(),
		wake:    make(chan struct{}, 1),
		quit:    make(chan struct{}),
		done:    make(chan struct{}),

		mostUnderWay: manager.mostUnderWay(),
	}
}

// now returns the renewer's time, which is Go's monotonic time.
func (k *renewer) now() time.Duration { return time.Since(k.base) }

// add makes a hold of an attempt that was just granted: from here on it is held, and the renewer
// looks after it. It does nothing, and reports false, if no validity is left, if the attempt is
// over, or if the client is closed. It reads the clocks itself, since users' code may have run
// after any earlier reading. It reads Go's clock first: after a pause between the two readings
// the renewer then looks at the hold too early, and not too late.
func (k *renewer) add(h *Hold) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	now, instant := k.now(), k.manager.now()
	validity := k.manager.cfg.Validity(h.claim.TTL)
	if h.life.state != trying || instant.Sub(h.life.start) >= validity {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return false
	}
	h.acquired, h.life.validity, h.life.ttl = h.life.start, validity, h.claim.TTL
	h.life.state, h.life.heldPending = held, true
	h.planRenewal(now, instant)
	due := h.nextEvent(now, instant)
	k.holds.add(event{due, h})
	heap.Fix(&k.holds, int(h.index))
	k.held.Add(1)
	if !k.running {
		k.running = true
		go k.run()
	}
	if due < k.sleeping {
		k.signal()
	}
	return true
}

// remove takes a hold that needs nothing any more out of the heap.
func (k *renewer) remove(h *Hold) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if h.index == notScheduled {
		return
	}
	heap.Remove(&k.holds, int(h.index))
	if !h.late {
		k.held.Add(-1)
	}
}

// postpone keeps a lost hold in the heap; look releases it later.
func (k *renewer) postpone(h *Hold) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if h.index != notScheduled && !h.late {
		h.late = true
		k.held.Add(-1)
	}
}

// Decided is called when a renewal is decided.
func (k *renewer) Decided(b *ballot.Round) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.finished = append(k.finished, b)
	k.signal()
}

func (k *renewer) signal() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// close accepts no more holds, and returns those that are held.
func (k *renewer) close() []*Hold {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.closed = true
	return k.all()
}

// stop ends the goroutine and waits for it.
func (k *renewer) stop() {
	close(k.quit)
	k.mu.Lock()
	running := k.running
	k.mu.Unlock()
	if running {
		<-k.done
	}
}

func (k *renewer) run() {
	defer close(k.done)
	timer := time.NewTimer(never)
	defer timer.Stop()
	// Read when the renewer was made, before any hold: the clocks may differ as soon as one
	// is acquired.
	anchor, anchored := k.anchor, time.Duration(0)
	for {
		for _, r := range k.takeFinished() {
			k.renewed(r.Question().(*wire.Ask))
		}
		instant, now := k.manager.now(), k.now()
		if instant.Sub(anchor)-(now-anchored) > clocksPart {
			anchor, anchored = instant, now
			k.lookAtAll()
		}
		for h := k.nextDue(now); h != nil; h = k.nextDue(now) {
			k.look(h)
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

func (k *renewer) takeFinished() []*ballot.Round {
	k.mu.Lock()
	defer k.mu.Unlock()
	decided := k.finished
	k.finished = nil
	return decided
}

// nextDue returns the hold whose event has been due longest; nil: none is due. look then sets
// its next event, which is later than now, or removes it.
func (k *renewer) nextDue(now time.Duration) *Hold {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.holds) == 0 || k.holds[0].due > now {
		return nil
	}
	return k.holds[0].hold
}

// all returns all holds. The caller must hold k.mu.
func (k *renewer) all() []*Hold {
	holds := make([]*Hold, len(k.holds))
	for i := range k.holds {
		holds[i] = k.holds[i].hold
	}
	return holds
}

func (k *renewer) lookAtAll() {
	k.mu.Lock()
	all := k.all()
	k.mu.Unlock()
	for _, h := range all {
		k.replan(h)
		k.look(h)
	}
}

// sleep returns how long the goroutine may sleep. If nothing is held, it sleeps for one idle
// tick, and then until a hold is added: a program that locks and unlocks in a loop should not
// wake it every time.
func (k *renewer) sleep() time.Duration {
	now := k.now()
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.holds) == 0 && k.idle {
		k.sleeping = never
		return never
	}
	k.idle = len(k.holds) == 0
	d := renewerTick
	if !k.idle {
		d = min(d, max(0, k.holds[0].due-now))
	}
	k.sleeping = now + d
	return d
}

// schedule sets when a hold is looked at next, if it is still in the heap.
func (k *renewer) schedule(h *Hold, due time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if h.index != notScheduled {
		k.holds[h.index].due = due
		heap.Fix(&k.holds, int(h.index))
	}
}
