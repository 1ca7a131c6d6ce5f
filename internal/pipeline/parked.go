package pipeline

import (
	"slices"
	"sync"
	"time"
)

const (
	// parkWait is how long a connection that has stalled may take to be parked: the
	// time that its reader and writer need to notice.
	parkWait = 100 * time.Millisecond
	// parkedWrite is how long a write to a parked connection may block, and so how long
	// Close may.
	parkedWrite = 100 * time.Millisecond
	// mostParked bounds the bytes that wait to be written to a parked connection: about
	// as much as the kernels' buffers hold.
	mostParked = 1 << 20
)

// A parked connection is one that has stalled. A master that was stopped executes what
// its kernel has received when it goes on, also if this program has ended by then. So
// the connection stays open, and what gives locks back is written behind what may set
// them, until the master is connected again or the pipeline is closed. Nobody reads the
// answers: the same calls are kept for the next connection as well, and to release twice
// does no harm. Nor does the master write them, if it lets us say so: it would find
// nobody to write to, and execute no more than the 16 KB that it reads at a time.
type parked struct {
	w    *wire
	done chan struct{} // closed when the goroutine has ended

	mu      sync.Mutex // guards what follows; nothing blocks under it
	work    *sync.Cond
	waiting []byte
	ended   bool // nothing more is accepted
}

// park starts the goroutine that writes to a connection whose session has ended. abort
// or close waits for it.
func park(w *wire) *parked {
	k := &parked{w: w, done: make(chan struct{})}
	k.work = sync.NewCond(&k.mu)
	k.waiting = AppendCommand(nil, "CLIENT", "REPLY", "OFF")
	go k.run()
	return k
}

// add queues a command. On a nil connection it does nothing.
func (k *parked) add(command []byte) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ended || len(k.waiting)+len(command) > mostParked {
		return
	}
	k.waiting = append(k.waiting, command...)
	k.work.Signal()
}

func (k *parked) run() {
	defer close(k.done)
	for {
		batch, more := k.next()
		if len(batch) > 0 {
			_ = k.w.Conn.SetWriteDeadline(time.Now().Add(parkedWrite))
			k.w.gather(batch)
			if err := k.w.push(); err != nil {
				// Part of a command may be out: nothing can follow it.
				k.end()
				return
			}
		}
		if !more {
			return
		}
	}
}

// next waits for what is to be written. more is false when nothing will follow.
func (k *parked) next() (batch []byte, more bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for len(k.waiting) == 0 && !k.ended {
		k.work.Wait()
	}
	batch, k.waiting = slices.Clone(k.waiting), k.waiting[:0]
	return batch, !k.ended
}

func (k *parked) end() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ended = true
	k.work.Signal()
}

// abort closes the connection and drops what was not sent: the master is connected
// anew, and late bytes would be executed behind that (S5).
func (k *parked) abort() {
	if k == nil {
		return
	}
	_ = k.w.abort()
	k.end()
	<-k.done
}

// close writes what waits, for parkedWrite at most, and leaves it to the kernel to
// deliver it.
func (k *parked) close() {
	if k == nil {
		return
	}
	k.end()
	<-k.done
	_ = k.w.raw.Close()
}
