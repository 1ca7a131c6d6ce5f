package pipeline

import (
	"sync/atomic"
	"time"
)

// A Delivery says how far the calls of a pipeline have come.
type Delivery struct {
	Accepted uint64 // calls so far
	Answered bool   // the master is connected, and all of them have ended
	// Settled: Close may follow. All calls have ended, or the master is far away and has been
	// sent all of them.
	Settled bool
}

// After Close our kernel refuses a late answer with a reset. A master that writes an answer
// after the reset drops what it has not read by then. So it must have read everything when
// the reset comes: a master reads all that has arrived, then answers.
const (
	// farFrom is the least round trip of a master that Close may leave. Answers of nearer
	// ones come soon, and a busy machine can be as slow as that.
	farFrom = 20 * time.Millisecond
	// restsFor is how long nothing has been written when Close leaves a master. The reset
	// comes that much later than the last command, or still later. Redis calls a command
	// slow that keeps it from reading for as long (slowlog-log-slower-than).
	restsFor = 10 * time.Millisecond
	// readAtOnce is how many bytes a master reads for sure at once. Redis reads up to 16 KB. Over
	// TLS it reads one record, and the next once it has answered: all of them long before the reset
	// from a client far away. One that was stopped reads two records after Close, or twice 16 KB:
	// the keys of releases behind them stay for their TTL.
	readAtOnce = 8 << 10
)

// Delivery looks at the calls of now. It does not block. A call may be asked again after
// its answer was counted, so what counts is what two looks have in common.
func (p *Pipeline) Delivery() Delivery {
	p.mu.Lock()
	defer p.mu.Unlock()
	accepted := p.accepted.Load()
	ended := accepted == p.completed.Load()
	return Delivery{Accepted: accepted, Answered: ended && p.state == up, Settled: ended || p.isDelivered()}
}

// isDelivered reports whether the master is far away, has been sent all that was queued, and
// will have read it when our reset comes. The caller must hold p.mu.
func (p *Pipeline) isDelivered() bool {
	if p.state != up || p.session == nil || len(p.queue) > 0 || !p.writerWaits || p.silent.Load() {
		return false
	}
	return p.session.outgoing.isDelivered(time.Since(p.session.began))
}

// An outgoing knows whether the master has what was written on a connection. Times
// are since the session began, in ns.
type outgoing struct {
	nearest    atomic.Int64 // the least round trip so far, with the time that the master took
	unanswered atomic.Int64 // bytes, or more: those written since everything had been answered
	last       atomic.Int64 // when something was written last, and 1; 0: nothing was
}

// roundTrip takes a sample. Only the reader calls it.
func (o *outgoing) roundTrip(took time.Duration) {
	if int64(took) < o.nearest.Load() {
		o.nearest.Store(int64(took))
	}
}

// isDelivered is Pipeline.isDelivered for what was written.
func (o *outgoing) isDelivered(now time.Duration) bool {
	return o.nearest.Load() >= int64(farFrom) && o.unanswered.Load() <= readAtOnce &&
		int64(now)-o.last.Load() >= int64(restsFor)
}
