package pipeline

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gomodule/redigo/redis"
)

// A session is the life of one connection. It has a writer, a reader, the calls that are
// in flight between them, and a watch for stalls. The supervisor starts it and waits for
// both goroutines.
type session struct {
	p     *Pipeline
	epoch uint64
	wire  *wire
	rc    redis.Conn
	began time.Time

	// mu guards inflight: the calls that are written or about to be, and that the reader
	// has not claimed yet, oldest first. Nothing blocks under mu.
	mu       sync.Mutex
	inflight []*Call

	sent     atomic.Uint64 // calls written to the connection
	received atomic.Uint64 // replies read from it

	failOnce sync.Once
	failed   chan struct{} // closed by fail, after err is set
	err      error

	watch stallWatch

	checking checking

	batcher      batcher     // only the writer uses it
	batchRefused atomic.Bool // the master has refused a batch
	ints         []int64     // the reader's buffer

	wg         sync.WaitGroup
	unanswered []*Call // calls that the reader had claimed when it ended; read after wg.Wait
}

func newSession(p *Pipeline, epoch uint64, w *wire, rc redis.Conn) *session {
	s := &session{p: p, epoch: epoch, wire: w, rc: rc, began: time.Now(), failed: make(chan struct{})}
	s.checking.init()
	s.watch.init(s)
	return s
}

// fail ends the session; only the first call has an effect. Both goroutines end, and the
// connection is reset.
func (s *session) fail(err error) { s.end(err, s.wire.abort) }

// end is fail with another way to close the socket.
func (s *session) end(err error, closeSocket func() error) {
	s.failOnce.Do(func() {
		s.err = err
		close(s.failed)
		_ = closeSocket()
		s.p.mu.Lock()
		s.p.work.Broadcast() // the writer may be waiting for work
		s.p.mu.Unlock()
	})
}

func (s *session) isFailed() bool {
	select {
	case <-s.failed:
		return true
	default:
		return false
	}
}

// run serves until the connection fails, and returns why it failed. unfinished has the calls
// that were in flight, in order.
func (s *session) run() (unfinished []*Call, err error) {
	s.wg.Add(2)
	go s.write()
	go s.read()
	s.wg.Wait()
	s.watch.stop()
	s.p.silent.Store(false)
	// Both goroutines have ended, so mu is not needed.
	return s.ownersCalls(append(s.unanswered, s.inflight...)), s.err
}

// write is the writer goroutine. It sends all queued calls in one flush.
func (s *session) write() {
	defer s.wg.Done()
	var flush []*Call
	for {
		var ok bool
		if flush, ok = s.p.next(s, flush); !ok {
			return
		}
		now := time.Now()
		if flush = s.dropAbandoned(flush, now); len(flush) == 0 {
			continue
		}
		var out []*Call
		if joined, ok := s.makeBatches(flush); ok {
			out = s.addCheck(joined)
		} else {
			flush = s.addCheck(flush)
			out = flush
		}
		out[0].sentAt = 1 + now.Sub(s.began)
		// Before the first byte is written: the reader must find them here.
		s.mu.Lock()
		s.inflight = append(s.inflight, out...)
		s.mu.Unlock()
		if err := s.send(out); err != nil {
			s.fail(connectionError(err))
			return
		}
	}
}

// send writes a flush in pieces of about writeAtOnce bytes. It counts calls as sent before
// it writes their first byte. From then on the writer does not touch them, and the reader
// accepts no more replies than that count.
func (s *session) send(flush []*Call) error {
	for len(flush) > 0 {
		n := 0
		for n < len(flush) && s.wire.gathered() < writeAtOnce {
			s.wire.gather(flush[n].Encoded)
			n++
		}
		flush = flush[n:]
		s.wire.asked.Add(uint64(n))
		s.sent.Add(uint64(n))
		s.watch.arm()
		if err := s.wire.push(); err != nil {
			return err
		}
	}
	return nil
}

// dropAbandoned completes the calls whose answer nobody needs any more, and marks the
// others as sent.
func (s *session) dropAbandoned(flush []*Call, now time.Time) []*Call {
	live := flush[:0]
	for _, c := range flush {
		if c.Owner.Abandoned(c) || c.Sent && !c.RetryUntil.IsZero() && !now.Before(c.RetryUntil) {
			s.p.complete(c, ErrAbandoned)
			continue
		}
		// The call may have been first in a flush of the previous connection. That time
		// says nothing about a round trip on this one.
		c.Again, c.Sent, c.Epoch, c.sentAt = c.Sent, true, s.epoch, 0
		live = append(live, c)
	}
	clear(flush[len(live):])
	return live
}

// read is the reader goroutine. Replies come in the order of the calls.
func (s *session) read() {
	defer s.wg.Done()
	var claimed []*Call
	next := 0
	for {
		if err := s.wire.await(); err != nil {
			s.fail(connectionError(err))
			break
		}
		if next == len(claimed) {
			claimed, next = s.claim(claimed), 0
		}
		c := claimed[next]
		if i := s.checking.index(c); i >= 0 {
			if err := s.checked(i); err != nil {
				s.fail(connectionError(err))
				break
			}
			claimed[next] = nil
			next++
			continue
		}
		if c.batch != nil {
			if err := s.receiveBatch(c.batch); err != nil {
				s.fail(connectionError(err))
				break
			}
			claimed[next] = nil
			next++
			continue
		}
		reply, err := s.receive(c)
		if err != nil && !isReply(err) {
			s.fail(connectionError(err))
			break
		}
		claimed[next] = nil
		next++
		s.count()
		s.replied(c, reply, err)
	}
	s.p.completed.Add(-uint64(len(s.checking.held))) // counted when their replies came
	s.unanswered = slices.Concat(s.checking.held, claimed[next:])
}

// replied completes a call. A call with a check waits for the check's answer.
func (s *session) replied(c *Call, reply any, err error) {
	if c.Check != nil {
		c.Reply, c.Err = reply, err
		s.checking.held = append(s.checking.held, c)
		return
	}
	s.answered(c, reply, err)
}

// answered completes a call with the master's reply.
func (s *session) answered(c *Call, reply any, err error) {
	s.timed(c)
	if err != nil {
		s.p.failures.Add(1)
		err = refusedWith(c.Cmd, err)
	}
	c.Reply, c.Err = reply, err
	c.Owner.Complete(c)
}

// timed takes a sample of the round trip. Only the first call of a flush gives one: it
// alone has sentAt, the time since the session began plus 1.
func (s *session) timed(c *Call) {
	if c.sentAt != 0 {
		s.p.sampleRoundTrip(1 + time.Since(s.began) - c.sentAt)
	}
}

// count counts the replies that arrived with the latest one. It counts them all at once,
// before an owner of any of them can read the counters.
func (s *session) count() {
	if n := uint64(s.wire.arrived()); n > 0 {
		s.received.Add(n)
		if s.p.silent.Load() {
			s.p.setSilent(false)
		}
		s.p.commands.Add(n)
		s.p.completed.Add(n)
	}
}

// receive blocks until the reply to a call has come. Nearly all replies have one of three
// forms that need no parser.
func (s *session) receive(c *Call) (any, error) {
	reply, ok, err := s.wire.common(&c.ints)
	if ok || err != nil {
		return reply, err
	}
	return s.rc.Receive()
}

// claim takes all calls in flight. It leaves the slice used in their place.
func (s *session) claim(used []*Call) []*Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	claimed := s.inflight
	s.inflight = used[:0]
	return claimed
}

// next waits until calls are queued, and takes them all. used is the slice that it
// returned last time. ok is false when the session has ended.
func (p *Pipeline) next(s *session, used []*Call) (flush []*Call, ok bool) {
	clear(used)
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.queue) == 0 {
		for len(p.queue) == 0 {
			if s.isFailed() {
				return nil, false
			}
			p.writerWaits = true
			p.work.Wait()
			p.writerWaits = false
		}
		// Goroutines that are about to queue a command may do so now. Under load that
		// makes flushes larger; without load it costs nothing.
		p.mu.Unlock()
		p.cfg.Yield()
		p.mu.Lock()
	}
	if s.isFailed() {
		return nil, false
	}
	flush = p.queue
	p.queue = used[:0]
	return flush, true
}

// ownersCalls returns the calls that have an owner: without the checks, and with the
// calls of batches in place of these.
func (s *session) ownersCalls(calls []*Call) []*Call {
	rest := make([]*Call, 0, len(calls))
	for _, c := range calls {
		switch {
		case s.checking.index(c) >= 0:
			s.p.completed.Add(1)
		case c.batch != nil:
			rest = append(rest, c.batch.calls...)
			c.batch.free()
		default:
			rest = append(rest, c)
		}
	}
	return rest
}
