package redistest

import (
	"errors"
	"net/url"
	"sync"
	"sync/atomic"
)

var (
	// ErrNotRunning is returned by what needs a running server when it is down.
	ErrNotRunning = errors.New("redistest: the server is not running")

	// ErrClosed is returned by Restart after Close.
	ErrClosed = errors.New("redistest: the server is closed")
)

// Server is one redis-server process, or, while it is down, the address and directory with which it
// starts again. It is safe for concurrent use; what changes its state (Kill, Stop, Freeze, Thaw,
// Restart, Close) happens one at a time.
type Server struct {
	cfg    Config
	binary string
	files  layout
	// user and password are those of Dial; empty where none is needed.
	user, password string

	clock *clock // nil without Config.MovableClock

	port      int          // fixed once Launch has returned
	unreserve func() error // gives a reserved port back; nil: there is nothing to give back

	// proc is the latest run, nil before the first. It stays when that run ends.
	proc atomic.Pointer[process]

	// lifecycle is held by methods that change the server's state, also while they wait (all
	// waits are bounded). It guards the fields below.
	lifecycle sync.Mutex
	closed    bool

	finalLog atomic.Pointer[string] // the end of the log, kept by Close
}

// Addr returns the TCP address, 127.0.0.1 and the port, which is the same after
// every Restart.
func (s *Server) Addr() string { return loopback(s.port) }

// URL returns the server's URL for clients, with user and password if any: unix:// with
// Config.UnixSocket, else rediss:// with Config.TLS, else redis://.
func (s *Server) URL() string {
	u := url.URL{Scheme: "redis", Host: s.Addr()}
	if s.cfg.UnixSocket {
		u = url.URL{Scheme: "unix", Path: s.files.socket()}
	} else if s.cfg.TLS != nil {
		u.Scheme = "rediss"
	}
	if s.cfg.Password != "" {
		u.User = url.UserPassword(s.cfg.Username, s.cfg.Password)
	}
	return u.String()
}

// PID returns the process id, or 0 while the server is down.
func (s *Server) PID() int {
	p := s.proc.Load()
	if p == nil || !p.running() {
		return 0
	}
	return p.handle.Pid
}

// Dir returns the directory where Redis keeps its data set. The append-only file is in its
// subdirectory appendonlydir since Redis 7.0, and in the directory itself before.
func (s *Server) Dir() string { return s.files.data() }

// Log returns the end of what the server has written, up to 4 KiB over all its runs; after
// Close, as it was then.
func (s *Server) Log() string {
	if log := s.finalLog.Load(); log != nil {
		return *log
	}
	return s.files.log()
}
