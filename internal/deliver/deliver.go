// Package deliver calls code of users that only listens: log handlers, and traces of events outside
// of a user's call. Such code may be slow or block. So a goroutine whose timing matters never
// calls it: it queues a function, and the Deliverer calls that.
package deliver

import (
	"sync"
	"time"
)

const (
	// most is how many entries of Put may wait, and mostAlways how many of Always.
	most       = 4096
	mostAlways = 1_000_000
	// closeWait is how long Close waits for the entries that are left.
	closeWait = time.Second
)

// A Deliverer calls queued functions in the order in which they were queued, on one
// goroutine, which lives while there are any. Queueing never blocks. It is safe for concurrent
// use. A nil Deliverer calls nothing.
type Deliverer struct {
	log  logger
	idle chan struct{} // gets a value when the goroutine ends after Close has begun; capacity 1

	// mu guards what follows. It is locked last: nothing blocks under it, and no function is
	// called.
	mu       sync.Mutex
	queue    []entry
	next     int // in queue: what is delivered next
	always   int // entries of Always that wait
	dropped  uint64
	dropping bool // something was dropped since the queue was empty last
	running  bool
	closed   bool
}

type entry struct {
	call   func()
	always bool
}

// Put queues a function. If too many wait already, it is dropped and counted.
func (d *Deliverer) Put(call func()) { d.put(entry{call, false}) }

// Always is Put for entries that must not be dropped, because they are rare or others rely on them.
func (d *Deliverer) Always(call func()) { d.put(entry{call, true}) }

func (d *Deliverer) put(e entry) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.hasRoom(e.always) {
		d.dropped++
		if !d.dropping && !d.closed {
			d.dropping = true
			d.add(entry{d.logDropping, true})
		}
		return
	}
	d.add(e)
}

// hasRoom reports whether one more may wait. The caller must hold d.mu.
func (d *Deliverer) hasRoom(always bool) bool {
	switch {
	case d.closed:
		return false
	case always:
		return d.always < mostAlways
	default:
		return len(d.queue)-d.next-d.always < most
	}
}

// add queues an entry. The caller must hold d.mu.
func (d *Deliverer) add(e entry) {
	if len(d.queue) == cap(d.queue) && d.next > len(d.queue)/2 { // rather than grow
		n := copy(d.queue, d.queue[d.next:])
		clear(d.queue[n:])
		d.queue, d.next = d.queue[:n], 0
	}
	d.queue = append(d.queue, e)
	if e.always {
		d.always++
	}
	if !d.running {
		d.running = true
		go d.run()
	}
}

// run calls what is queued, and ends when nothing is left.
func (d *Deliverer) run() {
	for {
		call := d.take()
		if call == nil {
			return
		}
		call()
	}
}

// take takes the first entry; nil: there is none, and the goroutine ends.
func (d *Deliverer) take() func() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.next == len(d.queue) {
		d.queue, d.next, d.dropping, d.running = d.queue[:0], 0, false, false
		if cap(d.queue) > 2*most {
			d.queue = nil
		}
		if d.closed {
			d.idle <- struct{}{}
		}
		return nil
	}
	e := d.queue[d.next]
	d.queue[d.next] = entry{}
	d.next++
	if e.always {
		d.always--
	}
	return e.call
}

// Dropped is how many entries were dropped so far.
func (d *Deliverer) Dropped() uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.dropped
}

// Close waits until all queued functions have been called, for a second at most, and drops the
// rest. Afterwards only a function that blocks may still run. Close may be called from one of the
// functions. Later entries are dropped.
func (d *Deliverer) Close() {
	d.mu.Lock()
	again, running := d.closed, d.running
	d.closed = true
	d.mu.Unlock()
	if again || !running {
		return
	}
	t := time.NewTimer(closeWait)
	defer t.Stop()
	select {
	case <-d.idle:
	case <-t.C:
		d.mu.Lock()
		defer d.mu.Unlock()
		d.dropped += uint64(len(d.queue) - d.next)
		d.queue, d.next, d.always = nil, 0, 0
	}
}
