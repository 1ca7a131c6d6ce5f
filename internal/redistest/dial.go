package redistest

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"
)

// Dial opens a connection for inspection, over the unix socket if there is one. It may do
// everything, whatever Config.ACL says. ctx bounds dialing, handshake and AUTH, which together are
// also bounded by 3 s. A read on the connection waits for at most 3 s, unless the command has a
// time-out of its own. The caller closes the connection.
func (s *Server) Dial(ctx context.Context) (redis.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, doBound)
	defer cancel()
	left := doBound
	if deadline, ok := ctx.Deadline(); ok {
		// The TLS handshake of redigo does not look at the context.
		left = max(time.Until(deadline), time.Millisecond)
	}
	network, address := "tcp", s.Addr()
	options := []redis.DialOption{
		redis.DialTLSHandshakeTimeout(left),
		redis.DialReadTimeout(doBound),
		redis.DialWriteTimeout(doBound),
		redis.DialUsername(s.user),
		redis.DialPassword(s.password),
	}
	switch {
	case s.cfg.UnixSocket:
		network, address = "unix", s.files.socket()
	case s.cfg.TLS != nil:
		options = append(options, redis.DialUseTLS(true), redis.DialTLSConfig(s.cfg.TLS.ClientConfig()))
	}
	conn, err := redis.DialContext(ctx, network, address, options...)
	if err != nil {
		return nil, fmt.Errorf("redistest: dial %s: %w", address, err)
	}
	return conn, nil
}

// Do sends one command on a connection of its own, as [Server.Dial] opens it, and
// returns redigo's reply; redis.String, redis.Int and so on convert it. It takes 3 s
// at most; with a frozen server it takes so long.
func (s *Server) Do(cmd string, args ...any) (any, error) {
	ctx, cancel := context.WithTimeout(context.Background(), doBound)
	defer cancel()
	return s.do(ctx, cmd, args...)
}

func (s *Server) do(ctx context.Context, cmd string, args ...any) (any, error) {
	conn, err := s.Dial(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }() // the reply is what counts
	reply, err := redis.DoContext(conn, ctx, cmd, args...)
	if err != nil {
		return nil, fmt.Errorf("redistest: %s on %s: %w", cmd, s.Addr(), err)
	}
	return reply, nil
}

// probe reports whether the process pid answers commands at this server's
// address. PING alone would accept the answer of another server that took the port.
// INFO alone is answered while the data set is still being loaded.
func (s *Server) probe(ctx context.Context, pid int) error {
	ctx, cancel := context.WithTimeout(ctx, probeBound)
	defer cancel()
	if _, err := s.do(ctx, "PING"); err != nil {
		return err
	}
	info, err := redis.String(s.do(ctx, "INFO", "server"))
	if err != nil {
		return err
	}
	if !strings.Contains(info, fmt.Sprintf("\r\nprocess_id:%d\r\n", pid)) {
		return fmt.Errorf("the server that answers is not process %d", pid)
	}
	return nil
}
