package simmaster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"
)

// relisten bounds for how long Restart tries to get its port back, which an
// outgoing connection of some process may occupy for a moment.
const relisten = 2 * time.Second

// Dial opens an in-memory connection. It does not wait. A killed or closed
// master refuses (ECONNREFUSED), a frozen one accepts. An error when ctx is
// already over.
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

// Listen serves on a loopback TCP address, host:port; "" means 127.0.0.1:0, a
// free port. A master listens on one address for its whole life, also after
// restarts. Not for use in a synctest bubble.
func (m *Master) Listen(addr string) error {
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	resolved, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		return fmt.Errorf("simmaster: listening on %q: %w", addr, err)
	}
	if !resolved.IP.IsLoopback() {
		return fmt.Errorf("simmaster: listening on %q: want a loopback address such as 127.0.0.1:0", addr)
	}
	m.lock()
	defer m.unlock()
	at := m.tcpAddr()
	switch {
	case m.closed:
		return ErrClosed
	case at != "":
		return fmt.Errorf("simmaster: listening on %q: already listening on %s", addr, at)
	case !m.Up():
		return ErrKilled
	}
	return m.serve(resolved.String())
}

// serve starts the accept loop. The caller must hold life.
func (m *Master) serve(addr string) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("simmaster: listening on %s: %w", addr, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.listen = l.Addr().String()
	r := m.run
	r.listener = l
	m.wg.Go(func() { m.accept(r, l) })
	return nil
}

// serveAgain is serve with patience for a port that is in use for a moment. The
// caller must hold life.
func (m *Master) serveAgain(addr string) error {
	for end := time.Now().Add(relisten); ; {
		err := m.serve(addr)
		if err == nil || !errors.Is(err, syscall.EADDRINUSE) || time.Now().After(end) {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// accept runs until the listener is closed, on a goroutine that stop waits for.
func (m *Master) accept(r *run, l net.Listener) {
	for {
		conn, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // out of file descriptors, say: it may pass
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

// Addr is the TCP address, host:port, also while the master is killed; without
// Listen it is the in-memory address.
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
