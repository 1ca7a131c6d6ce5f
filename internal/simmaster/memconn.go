package simmaster

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Buffer is how many bytes a direction holds before its writer waits; a socket's buffers
// hold about as many. Without a buffer, as in net.Pipe, a client that writes a whole batch
// before it reads would deadlock with a server that answers in between.
const Buffer = 256 << 10

// An Addr is the address of an end, of network "mem".
type Addr string

// Network is "mem".
func (Addr) Network() string  { return "mem" }
func (a Addr) String() string { return string(a) }

// A Conn is one end of an in-memory, buffered, full-duplex connection. It
// waits on channels alone, so every wait in it is durable in a synctest bubble.
// Like a net.Conn of TCP it is safe for concurrent use, and each Write is
// delivered in one piece. Close lets the other end read what was sent and then
// io.EOF; after SetLinger(0) the other end gets ECONNRESET instead of io.EOF,
// as it does on Linux after the bytes that had already arrived.
type Conn struct {
	in, out       *stream
	local, remote Addr
	writing       chan struct{} // one slot: held by the Write in progress
	readBy        deadline
	writeBy       deadline
	done          chan struct{} // closed by Close
	closing       sync.Once
	linger0       atomic.Bool
}

// Pipe returns the two ends of a connection. Each direction holds buffer bytes, at least 1.
func Pipe(client, server Addr, buffer int) (*Conn, *Conn) {
	up, down := &stream{room: buffer}, &stream{room: buffer}
	end := func(in, out *stream, local, remote Addr) *Conn {
		return &Conn{
			in: in, out: out, local: local, remote: remote,
			writing: make(chan struct{}, 1), done: make(chan struct{}),
			readBy: newDeadline(), writeBy: newDeadline(),
		}
	}
	return end(down, up, client, server), end(up, down, server, client)
}

// Read blocks until there is a byte, the other end is closed, this end is, or
// the read deadline passes.
func (c *Conn) Read(p []byte) (int, error) {
	for {
		if err := c.over(&c.readBy); err != nil {
			return 0, c.wrap("read", err)
		}
		n, wait, err := c.in.take(p)
		if wait == nil {
			if err == nil || errors.Is(err, io.EOF) {
				return n, err
			}
			return n, c.wrap("read", err)
		}
		select {
		case <-wait:
		case <-c.done:
		case <-c.readBy.passed():
		}
	}
}

// Write blocks while the other end's buffer is full, until either end is closed
// or the write deadline passes. Also when it fails, n bytes were sent.
func (c *Conn) Write(p []byte) (n int, err error) {
	if err := c.over(&c.writeBy); err != nil {
		return 0, c.wrap("write", err)
	}
	select {
	case c.writing <- struct{}{}:
		defer func() { <-c.writing }()
	case <-c.done:
		return 0, c.wrap("write", net.ErrClosed)
	case <-c.writeBy.passed():
		return 0, c.wrap("write", os.ErrDeadlineExceeded)
	}
	for {
		if err := c.over(&c.writeBy); err != nil {
			return n, c.wrap("write", err)
		}
		put, wait, err := c.out.put(p[n:])
		n += put
		if err != nil {
			return n, c.wrap("write", err)
		}
		if n == len(p) {
			return n, nil
		}
		select {
		case <-wait:
		case <-c.done:
		case <-c.writeBy.passed():
		}
	}
}

// over returns the error for an end that is closed or past its deadline.
func (c *Conn) over(by *deadline) error {
	select {
	case <-c.done:
		return net.ErrClosed
	default:
	}
	if by.over() {
		return os.ErrDeadlineExceeded
	}
	return nil
}

func (c *Conn) wrap(op string, err error) error {
	return &net.OpError{Op: op, Net: "mem", Source: c.local, Addr: c.remote, Err: err}
}

// Close ends both directions. It does not block, and is idempotent.
func (c *Conn) Close() error {
	c.closing.Do(func() {
		close(c.done)
		c.readBy.set(time.Time{})
		c.writeBy.set(time.Time{})
		c.out.end(c.linger0.Load())
		c.in.refuse()
	})
	return nil
}

// SetLinger with 0 makes Close reset the connection, as (*net.TCPConn).SetLinger
// does; any other value makes it end in order.
func (c *Conn) SetLinger(sec int) error {
	c.linger0.Store(sec == 0)
	return nil
}

// LocalAddr is this end's address, of network "mem".
func (c *Conn) LocalAddr() net.Addr { return c.local }

// RemoteAddr is the other end's address, of network "mem".
func (c *Conn) RemoteAddr() net.Addr { return c.remote }

// SetDeadline sets both deadlines; the zero time means none.
func (c *Conn) SetDeadline(t time.Time) error {
	if err := c.SetReadDeadline(t); err != nil {
		return err
	}
	return c.SetWriteDeadline(t)
}

// SetReadDeadline bounds the Read in progress and those to come.
func (c *Conn) SetReadDeadline(t time.Time) error { return c.setDeadline(&c.readBy, t) }

// SetWriteDeadline bounds the Write in progress and those to come.
func (c *Conn) SetWriteDeadline(t time.Time) error { return c.setDeadline(&c.writeBy, t) }

func (c *Conn) setDeadline(by *deadline, t time.Time) error {
	select {
	case <-c.done:
		return c.wrap("set", net.ErrClosed)
	default:
		by.set(t)
		return nil
	}
}

// stream is one direction of a connection.
type stream struct {
	room int // for bytes that have not been read

	mu      sync.Mutex // guards the fields below; never held while waiting
	data    bytes.Buffer
	ended   bool          // the writer is gone: io.EOF after the data
	reset   bool          // the writer is gone by reset: ECONNRESET after the data
	refused bool          // the reader is gone: EPIPE for the writer
	changed chan struct{} // closed at the next change; nil while nobody waits
}

// take reads the bytes that are there. If there are none, it returns a channel to wait on.
func (s *stream) take(p []byte) (n int, wait <-chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case len(p) == 0:
		return 0, nil, nil
	case s.data.Len() > 0:
		n, err = s.data.Read(p)
		s.wake()
		return n, nil, err
	case s.reset:
		return 0, nil, syscall.ECONNRESET
	case s.ended:
		return 0, nil, io.EOF
	default:
		return 0, s.waiter(), nil
	}
}

// put stores as much of p as fits. If that is not all of p, it returns a channel to wait
// on.
func (s *stream) put(p []byte) (n int, wait <-chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refused {
		return 0, nil, syscall.EPIPE
	}
	n = min(len(p), s.room-s.data.Len())
	s.data.Write(p[:n])
	if n > 0 {
		s.wake()
	}
	if n < len(p) {
		wait = s.waiter()
	}
	return n, wait, nil
}

// end tells the reader that no more bytes will come.
func (s *stream) end(reset bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended, s.reset = true, reset
	s.wake()
}

// refuse tells the writer that nobody reads its bytes any more.
func (s *stream) refuse() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused = true
	s.data = bytes.Buffer{}
	s.wake()
}

// waiter returns a channel closed at the next change. The caller must hold mu.
func (s *stream) waiter() <-chan struct{} {
	if s.changed == nil {
		s.changed = make(chan struct{})
	}
	return s.changed
}

// wake makes waiting readers and writers look again. The caller must hold mu.
func (s *stream) wake() {
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}
