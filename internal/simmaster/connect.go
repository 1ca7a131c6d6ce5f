package simmaster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
	"time"

	"github.com/redquorum/redquorum/internal/redistest/port"
)

// Dial opens an in-memory connection. It does not wait. A killed or closed master refuses
// (ECONNREFUSED), a frozen one accepts. Dial fails if ctx has already ended.
//
// The connection buffers 256 KiB in each direction, has deadlines, and has
// SetLinger as a TCP connection does: after SetLinger(0) Close resets it.
func (m *Master) Dial(ctx context.Context) (net.Conn, error) {
	fail := func(err error) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: "mem", Addr: Addr(m.name), Err: err}
	}
	if err := ctx.Err(); err != nil {
		return fail(err)
	}
	client, srv := Pipe(Addr("client of "+m.name), Addr(m.name), Buffer)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.run == nil {
		return fail(syscall.ECONNREFUSED)
	}
	m.attach(m.run, srv)
	return client, nil
}

// attach serves a connection. The caller must hold mu, and r must be the
// current run: stop then finds the session.
func (m *Master) attach(r *run, conn net.Conn) {
	r.accepted++
	s := newSession(m, r, r.accepted, conn)
	m.sessions[s.id] = s
	m.wg.Go(func() {
		s.pump()
		m.mu.Lock()
		delete(m.sessions, s.id)
		m.mu.Unlock()
	})
	r.srv.ServeConn(s)
}

// Listen serves on a free port of 127.0.0.1, which the master keeps until Close, also while it is
// killed. A master listens once in its life. Do not call Listen in a synctest bubble.
func (m *Master) Listen() error {
	m.lock()
	defer m.unlock()
	at := m.tcpAddr()
	switch {
	case m.closed:
		return ErrClosed
	case at != "":
		return fmt.Errorf("simmaster: already listening on %s", at)
	case !m.Up():
		return ErrKilled
	}
	n, unreserve, err := port.Reserve()
	if err != nil {
		return fmt.Errorf("simmaster: reserving a port: %w", err)
	}
	if err := m.serve(net.JoinHostPort("127.0.0.1", strconv.Itoa(n))); err != nil {
		return errors.Join(err, unreserve())
	}
	m.unreserve = unreserve
	return nil
}

// serve starts the accept loop. The caller must hold life.
func (m *Master) serve(addr string) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("simmaster: listening on %s: %w", addr, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.listen = addr
	r := m.run
	r.listener = l
	m.wg.Go(func() { m.accept(r, l) })
	return nil
}

// accept runs until the listener is closed, on a goroutine that stop waits for.
func (m *Master) accept(r *run, l net.Listener) {
	for {
		conn, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // such as too many open files: it may pass
			select {
			case <-r.stopped:
				return
			case <-time.After(5 * time.Millisecond):
				continue
			}
		}
		m.mu.Lock()
		if m.run == r {
			m.attach(r, conn)
		} else {
			_ = conn.Close()
		}
		m.mu.Unlock()
	}
}

// Addr returns the TCP address, host:port, also while the master is killed. Without Listen it
// returns the in-memory address.
func (m *Master) Addr() string {
	if at := m.tcpAddr(); at != "" {
		return at
	}
	return m.name
}

func (m *Master) tcpAddr() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.listen
}

// URL is redis:// and Addr.
func (m *Master) URL() string { return "redis://" + m.Addr() }
