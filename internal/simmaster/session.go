package simmaster

import (
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/alicebob/miniredis/v2/server"
)

// farewell bounds how long the last replies of a closing connection may take to be sent.
const farewell = time.Second

// session is one connection. It passes bytes between the client's net.Conn and miniredis, which
// uses the session as its net.Conn.
//
// Replies go through a buffer and a goroutine of the session's own (pump): a
// frozen master answers nothing, and a client that does not read would
// otherwise make miniredis wait while it holds its lock.
type session struct {
	id     int64
	master *Master
	run    *run
	raw    net.Conn
	in     *requestReader
	dead   chan struct{} // closed by abort: nothing of this session is executed any more
	kick   chan struct{} // one slot: there is something for the pump

	mu      sync.Mutex // guards the fields below; never held while waiting
	out     []byte
	closing bool
	aborted bool
	muted   bool // the client takes no more replies; its commands are still executed

	quiet atomic.Bool // what miniredis writes is dropped

	// Only the goroutine that serves the connection uses these:
	claimed bool // the peer that miniredis made for this session is known
	inside  bool // a command of this session is being executed
}

func newSession(m *Master, r *run, id int64, raw net.Conn) *session {
	return &session{
		id: id, master: m, run: r, raw: raw,
		in:   newRequestReader(raw),
		dead: make(chan struct{}), kick: make(chan struct{}, 1),
	}
}

// Read hands requests to miniredis.
func (s *session) Read(p []byte) (int, error) { return s.in.Read(p) }

// Write queues replies of miniredis. It does not block.
func (s *session) Write(p []byte) (int, error) {
	if !s.claimed { // see Master.sessionOf: the first write is no reply
		s.claimed = true
		s.master.claiming = s
		return len(p), nil
	}
	if s.quiet.Load() {
		return len(p), nil
	}
	written := len(p)
	if len(p) > 0 && p[0] == '-' {
		p = likeRedis(p)
	}
	s.mu.Lock()
	if s.closing || s.aborted {
		s.mu.Unlock()
		return 0, net.ErrClosed
	}
	if s.muted {
		s.mu.Unlock()
		return written, nil
	}
	s.out = append(s.out, p...)
	s.mu.Unlock()
	s.wakePump()
	return written, nil
}

// Close lets the pump send what is queued and then close the connection. It
// does not block, and is idempotent.
func (s *session) Close() error {
	s.mu.Lock()
	first := !s.closing && !s.aborted
	s.closing = true
	s.mu.Unlock()
	if first {
		_ = s.raw.SetWriteDeadline(time.Now().Add(farewell))
		s.wakePump()
	}
	return nil
}

// abort resets the connection: what is queued is dropped, in both directions.
func (s *session) abort() {
	s.mu.Lock()
	first := !s.aborted
	s.aborted = true
	s.out = nil
	s.mu.Unlock()
	if !first {
		return
	}
	close(s.dead)
	if c, ok := s.raw.(interface{ SetLinger(int) error }); ok {
		_ = c.SetLinger(0)
	}
	_ = s.raw.Close()
}

// over reports whether the connection was closed or aborted.
func (s *session) over() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closing || s.aborted
}

func (s *session) wakePump() {
	select {
	case s.kick <- struct{}{}:
	default:
	}
}

// pump sends what Write queued, nothing while the master is frozen, until the
// session is closed or aborted. It runs on a goroutine that Master.stop waits
// for.
func (s *session) pump() {
	var batch []byte
	for {
		select {
		case <-s.kick:
		case <-s.dead:
			return
		}
		if thawed := s.master.gate.frozen(); thawed != nil {
			select {
			case <-thawed:
			case <-s.dead:
				return
			}
		}
		s.mu.Lock()
		batch, s.out = s.out, batch[:0]
		closing := s.closing
		s.mu.Unlock()
		if closing {
			_ = s.raw.SetWriteDeadline(time.Now().Add(farewell))
		}
		if len(batch) > 0 {
			if _, err := s.raw.Write(batch); err != nil {
				s.mu.Lock()
				s.muted, s.out = true, nil
				s.mu.Unlock()
			}
		}
		if closing {
			_ = s.raw.Close()
			return
		}
		if cap(batch) > 1<<20 {
			batch = nil // one large reply is no reason to keep its memory
		}
	}
}

// silently runs a command of this session and drops its reply.
func (s *session) silently(peer *server.Peer, command ...string) {
	s.quiet.Store(true)
	defer s.quiet.Store(false)
	s.run.srv.Dispatch(peer, command)
	peer.Flush()
}

// LocalAddr, RemoteAddr and the deadlines complete net.Conn; miniredis uses none of them.

func (s *session) LocalAddr() net.Addr                { return s.raw.LocalAddr() }
func (s *session) RemoteAddr() net.Addr               { return s.raw.RemoteAddr() }
func (s *session) SetDeadline(t time.Time) error      { return s.raw.SetDeadline(t) }
func (s *session) SetReadDeadline(t time.Time) error  { return s.raw.SetReadDeadline(t) }
func (s *session) SetWriteDeadline(t time.Time) error { return s.raw.SetWriteDeadline(t) }
