package redistest

import (
	"context"
	"errors"
	"fmt"
)

// Kill ends the server with SIGKILL, as a crash would, and waits until the
// process is gone (at most 10 s). It is no error if the server is down already.
func (s *Server) Kill() error {
	s.lifecycle.Lock()
	defer s.lifecycle.Unlock()
	return s.wrap("kill", s.kill())
}

// Stop ends the server with SIGTERM, as an operator would, and waits until the
// process is gone. A server that is still there after 5 s is killed, which is an
// error. A frozen server is thawed; it is no error if the server is down already.
func (s *Server) Stop() error {
	s.lifecycle.Lock()
	defer s.lifecycle.Unlock()
	p := s.proc.Load()
	if p == nil || !p.running() {
		return nil
	}
	return s.wrap("stop", p.stop(stopBound))
}

// Freeze suspends the server with SIGSTOP and returns once all its threads have stopped (at most
// 5 s). The server keeps its connections, and the kernel accepts new ones, but nothing is
// answered. Freezing twice is no error. If the server is down, the error is ErrNotRunning.
func (s *Server) Freeze() error {
	s.lifecycle.Lock()
	defer s.lifecycle.Unlock()
	p := s.proc.Load()
	if p == nil || !p.running() {
		return ErrNotRunning
	}
	return s.wrap("freeze", p.freeze())
}

// Thaw resumes a frozen server with SIGCONT. Thawing a server that is not frozen does nothing. If
// the server is down, the error is ErrNotRunning.
func (s *Server) Thaw() error {
	s.lifecycle.Lock()
	defer s.lifecycle.Unlock()
	p := s.proc.Load()
	if p == nil || !p.running() {
		return ErrNotRunning
	}
	return s.wrap("thaw", resume(p.handle))
}

// Restart starts the server again at the same address, with a new process and so
// a new run id, and returns once it answers. A server that still runs is killed
// first, as a crash would; call Stop before for an orderly restart.
//
// With keepData it finds its directory as the run before left it, and so its data
// if there is an append-only file; without, the directory is empty. ctx and 10 s
// bound the start, as in Launch. After an error the server is down and may be
// restarted again; after Close the error is ErrClosed.
func (s *Server) Restart(ctx context.Context, keepData bool) error {
	s.lifecycle.Lock()
	defer s.lifecycle.Unlock()
	if s.closed {
		return ErrClosed
	}
	if err := s.kill(); err != nil {
		return s.wrap("restart", err)
	}
	if !keepData {
		if err := s.files.emptyData(); err != nil {
			return s.wrap("restart", err)
		}
	}
	ctx, cancel := withStartBound(ctx)
	defer cancel()
	return s.run(ctx)
}

// Close kills the server, frozen or not, waits until the process is gone (at most
// 10 s) and removes its directory. It is idempotent; after an error it may be
// called again. Log still works afterwards.
func (s *Server) Close() error {
	s.lifecycle.Lock()
	defer s.lifecycle.Unlock()
	if s.closed {
		return nil
	}
	if err := s.kill(); err != nil {
		return s.wrap("close", err)
	}
	log := s.Log()
	s.finalLog.CompareAndSwap(nil, &log)
	err := errors.Join(s.clock.close(), s.files.remove())
	if s.unreserve != nil {
		err = errors.Join(err, s.unreserve())
		s.unreserve = nil
	}
	if err != nil {
		return s.wrap("close", err)
	}
	s.closed = true
	return nil
}

// kill needs lifecycle held.
func (s *Server) kill() error {
	p := s.proc.Load()
	if p == nil {
		return nil
	}
	return p.kill()
}

func (s *Server) wrap(verb string, err error) error {
	if err == nil || errors.Is(err, ErrNotRunning) {
		return err
	}
	return fmt.Errorf("redistest: %s redis-server on %s: %w", verb, s.Addr(), err)
}
