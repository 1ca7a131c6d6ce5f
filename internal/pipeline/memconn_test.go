package pipeline

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// A memConn is one end of a buffered connection in memory. It waits on
// sync.Cond alone, so that every wait in it is durable in a synctest bubble.
type memConn struct {
	in, out *memStream
	writes  atomic.Int64 // calls of Write
	linger  atomic.Int64 // what SetLinger was given last; -1: it was not; closedInOrder
	closing sync.Once
}

// closedInOrder is the linger of a connection that was closed without a reset.
const closedInOrder = -2

// memPipe returns the two ends of a connection, each of whose directions
// holds window bytes before its writer waits.
func memPipe(window int) (client, server *memConn) {
	up, down := newMemStream(window), newMemStream(window)
	client, server = &memConn{in: down, out: up}, &memConn{in: up, out: down}
	client.linger.Store(-1)
	server.linger.Store(-1)
	return client, server
}

func (c *memConn) Read(p []byte) (int, error) {
	n, err := c.in.read(p)
	return n, c.wrap("read", err)
}

func (c *memConn) Write(p []byte) (int, error) {
	c.writes.Add(1)
	n, err := c.out.write(p)
	return n, c.wrap("write", err)
}

// wrap makes of an error what package net makes of it.
func (c *memConn) wrap(op string, err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	return &net.OpError{Op: op, Net: "mem", Source: memAddr{}, Addr: memAddr{}, Err: err}
}

// Close lets the other end read what was written, and then io.EOF, or
// ECONNRESET after SetLinger(0).
func (c *memConn) Close() error {
	c.closing.Do(func() {
		end := io.EOF
		if c.linger.Load() == 0 {
			end = syscall.ECONNRESET
		} else {
			c.linger.Store(closedInOrder)
		}
		c.out.end(end, net.ErrClosed)
		c.in.end(net.ErrClosed, syscall.EPIPE)
	})
	return nil
}

func (c *memConn) SetLinger(sec int) error {
	c.linger.Store(int64(sec))
	return nil
}

func (c *memConn) LocalAddr() net.Addr  { return memAddr{} }
func (c *memConn) RemoteAddr() net.Addr { return memAddr{} }

// SetDeadline ends what waits only where the deadline has passed already.
func (c *memConn) SetDeadline(t time.Time) error {
	_ = c.SetReadDeadline(t)
	return c.SetWriteDeadline(t)
}

func (c *memConn) SetReadDeadline(t time.Time) error {
	c.in.interrupt(&c.in.readDue, t)
	return nil
}

func (c *memConn) SetWriteDeadline(t time.Time) error {
	c.out.interrupt(&c.out.writeDue, t)
	return nil
}

type memAddr struct{}

func (memAddr) Network() string { return "mem" }
func (memAddr) String() string  { return "mem" }

// A memStream is one direction of a connection.
type memStream struct {
	mu       sync.Mutex // guards the fields below
	changed  *sync.Cond
	data     []byte
	window   int
	readEnd  error // what the reader gets when there is no data; nil: it waits
	writeEnd error // what the writer gets; nil: it may write
	readDue  bool  // the reader's deadline has passed
	writeDue bool  // the writer's
}

func newMemStream(window int) *memStream {
	s := &memStream{window: window}
	s.changed = sync.NewCond(&s.mu)
	return s
}

func (s *memStream) read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.data) == 0 && s.readEnd == nil && !s.readDue {
		s.changed.Wait()
	}
	if s.readDue && s.readEnd == nil {
		return 0, os.ErrDeadlineExceeded
	}
	if s.readEnd == net.ErrClosed || len(s.data) == 0 { //nolint:errorlint // it is ours
		return 0, s.readEnd
	}
	n := copy(p, s.data)
	s.data = s.data[n:]
	s.changed.Broadcast()
	return n, nil
}

func (s *memStream) write(p []byte) (n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if s.writeEnd != nil {
			return n, s.writeEnd
		}
		if s.writeDue {
			return n, os.ErrDeadlineExceeded
		}
		some := min(len(p)-n, s.window-len(s.data))
		s.data = append(s.data, p[n:n+some]...)
		n += some
		s.changed.Broadcast()
		if n == len(p) {
			return n, nil
		}
		s.changed.Wait()
	}
}

func (s *memStream) interrupt(due *bool, t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*due = !t.IsZero() && !t.After(time.Now())
	s.changed.Broadcast()
}

// end tells reader and writer that the connection is over. The first to close
// decides.
func (s *memStream) end(read, write error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.readEnd == nil || read == net.ErrClosed { //nolint:errorlint // it is ours
		s.readEnd = read
	}
	if s.writeEnd == nil || write == net.ErrClosed { //nolint:errorlint // it is ours
		s.writeEnd = write
	}
	s.changed.Broadcast()
}
