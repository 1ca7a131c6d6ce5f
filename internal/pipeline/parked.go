package pipeline

import (
	"slices"
	"sync"
	"time"
)

const (
	// parkWait is how long a write that has begun may go on when its connection stalls.
	parkWait = 100 * time.Millisecond
	// parkedWrite is how long a write to a parked connection may block. Close may block
	// for as long.
	parkedWrite = 100 * time.Millisecond
	// mostParked bounds the bytes that wait to be written to a parked connection. The
	// buffers of both kernels hold about as much.
	mostParked = 1 << 20
)

// A parked connection has stalled, perhaps in its handshake, and stays open for releases. Or its
// pipeline was closed as it came up: then they are all that is still written.
//
// A master that was stopped will go on later. Then it executes everything that its kernel
// has received, even if this program has ended. So releases are written behind the
// commands that may set keys, until the master is connected again or the pipeline is
// closed. The same releases are kept for the next connection too: to release twice does
// no harm.
//
// Nobody reads the replies. CLIENT REPLY OFF asks the master not to send any, because a
// master that cannot write its replies executes only the 16 KB that it reads at once.
type parked struct {
	w     *wire
	lacks []Script      // the master may lack them: what runs one carries it
	done  chan struct{} // closed when the goroutine has ended

	mu      sync.Mutex // guards what follows; nothing blocks under it
	work    *sync.Cond
	waiting []byte
	ended   bool // no more commands are accepted
}

// park starts the goroutine that writes to a connection whose session has ended, or whose
// handshake has: then the master may lack the scripts. abort and close wait for it to end.
func park(w *wire, lacks []Script) *parked {
	k := &parked{w: w, lacks: lacks, done: make(chan struct{})}
	k.work = sync.NewCond(&k.mu)
	k.waiting = AppendCommand(nil, "CLIENT", "REPLY", "OFF")
	go k.run()
	return k
}

// park writes to k, from now on, what is kept for the next connection, and what is kept already
// but was not written yet.
func (p *Pipeline) park(k *parked) {
	p.unpark().close()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.parked = k
	for _, c := range p.queue {
		p.writeParked(c)
	}
}

// writeParked writes a call that is kept to the parked connection, if there is one. The caller
// must hold p.mu.
func (p *Pipeline) writeParked(c *Call) {
	if p.parked != nil && !c.Keep.IsZero() {
		p.parked.add(c.Encoded)
	}
}

// add queues a command. It does nothing if too many bytes wait.
func (k *parked) add(command []byte) {
	if i := slices.IndexFunc(k.lacks, func(s Script) bool { return s.isRunBy(command) }); i >= 0 {
		command = EvalOf(command, k.lacks[i].Source)
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
				// Part of a command may have been written: nothing can follow it.
				k.end()
				return
			}
		}
		if !more {
			return
		}
	}
}

// next waits for bytes to write. more is false if none will follow.
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

// abort closes the connection and drops the bytes that were not sent. It is called when
// the master is connected again: late bytes would be executed after commands of the new
// connection (S5).
func (k *parked) abort() {
	if k == nil {
		return
	}
	_ = k.w.abort()
	k.end()
	<-k.done
}

// close writes the waiting bytes, which takes at most parkedWrite. The kernel delivers
// them.
func (k *parked) close() {
	if k == nil {
		return
	}
	k.end()
	<-k.done
	_ = k.w.raw.Close()
}
