package redistest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/redquorum/redquorum/internal/redistest/port"
)

// Launch starts a server and returns once it answers. ctx bounds the start only,
// which is also bounded by 10 s; the server then runs until Kill, Stop or Close,
// and the caller must call Close. The error holds the end of the server's log.
func Launch(ctx context.Context, cfg Config) (_ *Server, err error) {
	binary, err := lookUp()
	if err != nil {
		return nil, err
	}
	files, err := newLayout(cfg.UnixSocket)
	if err != nil {
		return nil, fmt.Errorf("redistest: directories: %w", err)
	}
	s := &Server{cfg: cfg, binary: binary, files: files}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if cfg.MovableClock {
		if s.clock, err = newClock(files); err != nil {
			return nil, err
		}
	}
	if err := s.setCredentials(); err != nil {
		return nil, fmt.Errorf("redistest: credentials: %w", err)
	}
	if err := s.reserve(); err != nil {
		return nil, fmt.Errorf("redistest: reserve a port: %w", err)
	}
	ctx, cancel := withStartBound(ctx)
	defer cancel()
	if err := s.run(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// busOffset is how far above its port a member of a Redis Cluster listens for the
// others. Only since Redis 7.0 can this be configured.
const busOffset = 10_000

// reserve chooses the port. For a member it chooses one whose port for other members is free too.
func (s *Server) reserve() (err error) {
	for range 100 {
		s.port, s.unreserve, err = port.Reserve()
		if err != nil || !s.cfg.Member {
			return err
		}
		if bus := s.port + busOffset; bus <= 65_535 {
			if l, err := net.Listen("tcp4", loopback(bus)); err == nil {
				return l.Close()
			}
		}
		if err := s.unreserve(); err != nil {
			return err
		}
	}
	s.unreserve = nil
	return errors.New("none that is free has a free one 10,000 above it")
}

func withStartBound(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, startBound, fmt.Errorf("it did not answer within %v", startBound))
}

// setCredentials writes the ACL file and the certificate, and decides how Dial
// authenticates.
func (s *Server) setCredentials() error {
	if s.cfg.TLS != nil {
		cert, key, err := s.cfg.TLS.issue("redistest server")
		if err != nil {
			return err
		}
		for path, content := range map[string][]byte{
			"server.crt": cert, "server.key": key, "ca.crt": s.cfg.TLS.PEM(),
		} {
			if err := os.WriteFile(s.files.file(path), content, 0o600); err != nil {
				return err
			}
		}
	}
	if len(s.cfg.ACL) == 0 {
		s.password = s.cfg.Password
		return nil
	}
	s.user, s.password = harnessUser, rand.Text()
	lines := append([]string{}, s.cfg.ACL...)
	lines = append(lines, fmt.Sprintf("user %s on >%s ~* &* +@all", s.user, s.password))
	return os.WriteFile(s.files.file("users.acl"), []byte(strings.Join(lines, "\n")+"\n"), 0o600)
}

// run starts the process and waits until it answers. After an error nothing runs.
// The caller holds lifecycle, or no other goroutine knows s.
func (s *Server) run(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("redistest: redis-server on %s not started: %w", s.Addr(), context.Cause(ctx))
	}
	conf := s.files.file("redis.conf")
	if err := os.WriteFile(conf, []byte(s.cfg.file(s.files, s.port)), 0o600); err != nil {
		return fmt.Errorf("redistest: configuration file: %w", err)
	}
	log, err := os.OpenFile(s.files.file("log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("redistest: log file: %w", err)
	}
	cmd := exec.Command(s.binary, append([]string{conf}, s.cfg.Args...)...)
	cmd.Env = append(os.Environ(), s.clock.env()...)
	cmd.Stdout, cmd.Stderr = log, log
	p, err := startProcess(cmd)
	err = errors.Join(err, log.Close()) // the child has its own descriptor
	if err != nil {
		if p != nil {
			err = errors.Join(err, p.kill())
		}
		return fmt.Errorf("redistest: start %s: %w", s.binary, err)
	}
	s.proc.Store(p)
	err = s.awaitAnswer(ctx, p)
	if err == nil {
		err = s.clock.loadedBy(p.handle.Pid)
	}
	if err != nil {
		if killErr := p.kill(); killErr != nil {
			err = errors.Join(err, killErr)
		}
		return fmt.Errorf("redistest: redis-server on %s: %w; the end of its log:\n%s", s.Addr(), err, s.Log())
	}
	return nil
}

// awaitAnswer waits until p itself answers, p has ended or ctx is over.
func (s *Server) awaitAnswer(ctx context.Context, p *process) error {
	pause := 2 * time.Millisecond
	timer := time.NewTimer(0)
	defer timer.Stop()
	var last error
	for {
		select {
		case <-p.exited:
			return fmt.Errorf("ended before it answered (%s)", p.outcome())
		case <-ctx.Done():
			return fmt.Errorf("start: %w (last answer: %v)", context.Cause(ctx), last)
		case <-timer.C:
		}
		err := s.probe(ctx, p.handle.Pid)
		if err == nil {
			return nil
		}
		if ctx.Err() == nil { // else it only says that the context is over
			last = err
		}
		timer.Reset(pause)
		pause = min(2*pause, 50*time.Millisecond)
	}
}
