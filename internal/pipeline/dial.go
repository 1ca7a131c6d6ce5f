package pipeline

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/gomodule/redigo/redis"
)

// A dialer makes the connections of a master, those for commands and those of subscriptions,
// and says how long to pause between two attempts. It is safe for concurrent use.
type dialer struct {
	cfg    *Config
	asking chan struct{} // full while the credentials callback runs
	served atomic.Bool   // a connection was made: the scheme of the URL is right
}

// connect makes a connection and logs in. Then greet sends the rest of the handshake. connect
// blocks for DialTimeout at most, and for credentialsGrace after it.
func (d *dialer) connect(
	ctx context.Context, ask func(context.Context) login, greet func(*handshake) error,
) (*wire, redis.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, d.cfg.DialTimeout)
	defer cancel()

	raw, err := d.cfg.Dialer(ctx, d.cfg.Network, d.cfg.Addr)
	if err == nil && raw == nil {
		err = errors.New("the dialer returned neither a connection nor an error")
	}
	// The dialer may speak TLS by itself.
	if _, untrusted := errors.AsType[*tls.CertificateVerificationError](err); untrusted {
		return nil, nil, &ConfigError{What: "TLS handshake", Err: withoutContext(err)}
	}
	if err != nil {
		return nil, nil, withoutContext(err)
	}
	w := newWire(raw, raw)
	stop := context.AfterFunc(ctx, func() { _ = w.abort() })
	h, err := d.logIn(ctx, w, ask)
	if err == nil {
		err = greet(h)
	}
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		_ = w.abort()
		if ctx.Err() != nil && !isConfig(err) {
			err = fmt.Errorf("%w: no complete handshake within %v", ErrTimeout, d.cfg.DialTimeout)
		}
		// A Redis with TLS closes the connection when it gets plain commands. A Redis without TLS
		// waits for the end of a command when it gets a TLS handshake. Neither sends an error.
		switch silent := w.silent && !d.served.Load() && d.cfg.Network != "unix" && !isConfig(err); {
		case silent && d.cfg.TLS == nil && errors.Is(err, ErrConnectionLost):
			err = fmt.Errorf("%w, and it had said nothing: if it speaks TLS, use a rediss:// URL", err)
		case silent && d.cfg.TLS != nil && errors.Is(err, ErrTimeout):
			err = fmt.Errorf("%w, and it had said nothing: if it does not speak TLS, use a redis:// URL", err)
		}
		return nil, nil, err
	}
	d.served.Store(true)
	return w, h.rc, nil
}

func isConfig(err error) bool {
	var c *ConfigError
	return errors.As(err, &c)
}

// logIn does the TLS handshake and queues AUTH.
func (d *dialer) logIn(ctx context.Context, w *wire, ask func(context.Context) login) (*handshake, error) {
	if d.cfg.TLS != nil {
		conn, err := d.handshakeTLS(ctx, w.raw)
		if err != nil {
			return nil, err
		}
		w.Conn = conn
	}
	l := ask(ctx)
	if l.err != nil {
		return nil, &ConfigError{What: credentials, Err: redacted(withoutContext(l.err), l.password), passes: true}
	}
	h := &handshake{w: w, rc: redis.NewConn(w, 0, 0), secret: l.password, rotates: d.cfg.Credentials != nil}
	if l.password != "" {
		if l.username == "" {
			h.send("AUTH", "AUTH", l.password)
		} else {
			h.send("AUTH as "+l.username, "AUTH", l.username, l.password)
		}
	}
	return h, nil
}

func (d *dialer) handshakeTLS(ctx context.Context, raw net.Conn) (net.Conn, error) {
	conn := tls.Client(raw, d.tlsConfig())
	if err := conn.HandshakeContext(ctx); err != nil {
		if ctx.Err() != nil || broken(err) {
			return nil, connectionError(err)
		}
		return nil, &ConfigError{What: "TLS handshake", Err: withoutContext(err)}
	}
	return conn, nil
}

// tlsConfig returns the configuration for one connection. It names the server also if the caller
// verifies by itself (InsecureSkipVerify with VerifyConnection). That code compares the
// certificate with the ServerName of the connection, and compares nothing if it is empty.
// crypto/tls leaves it empty for an IP address, because it sends none as SNI.
func (d *dialer) tlsConfig() *tls.Config {
	cfg := d.cfg.TLS.Clone()
	if cfg.ServerName == "" {
		host, _, err := net.SplitHostPort(d.cfg.Addr)
		if err != nil {
			host = d.cfg.Addr
		}
		cfg.ServerName = host
	}
	if verify := cfg.VerifyConnection; verify != nil {
		cfg.VerifyConnection = func(state tls.ConnectionState) error {
			state.ServerName = cfg.ServerName
			return verify(state)
		}
	}
	return cfg
}

// backoff returns the pause before the next dial after n failures in a row. It doubles from
// MinBackoff to MaxBackoff, less a random part of up to a half: when a master comes back, its
// clients do not all arrive at once. After no failure there is no pause.
func (d *dialer) backoff(n int) time.Duration {
	if n <= 0 {
		return 0
	}
	pause := d.longestPause(n)
	return pause/2 + d.jitter(pause/2)
}

// brief is the longest life of a connection that a server ends as soon as it has it.
const brief = 100 * time.Millisecond

// proved reports whether a connection has lasted longer than the pause that would follow n failures
// in a row. Then its loss is not one more failure.
func (d *dialer) proved(begun time.Time, n int) bool {
	return time.Since(begun) > max(brief, d.longestPause(n))
}

// longestPause returns the upper bound of backoff for n failures, 1 or more.
func (d *dialer) longestPause(n int) time.Duration {
	pause := d.cfg.MaxBackoff
	if d.cfg.MinBackoff < pause>>(n-1) { // so that doubling cannot overflow
		pause = d.cfg.MinBackoff << (n - 1)
	}
	return pause
}

// jitter returns a random duration in [0, most).
func (d *dialer) jitter(most time.Duration) time.Duration {
	if most <= 0 {
		return 0
	}
	return d.cfg.Chance.N("redial "+d.cfg.Name, most)
}
