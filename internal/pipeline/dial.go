package pipeline

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"
)

// An identity is what a master said of itself and of our connection.
type identity struct {
	clientID int64   // CLIENT ID of the connection; 0: not told
	runID    string  // run_id of INFO server; "": not told
	greeted  []*Call // the calls of greetings, with the replies
}

// isNone reports whether there was no connection.
func (id identity) isNone() bool { return id.clientID == 0 && id.runID == "" }

// dial connects, shakes hands and asks who answers. It blocks as connect does.
// previous is the identity of the connection before this one. If the same process still
// serves that connection, it is killed before the new one carries anything. So bytes of ours
// that are still on their way to the master are never executed (invariant S5). It is not
// killed if the run_id differs: in another process the old number may be a stranger's. So it may
// be if the new number is lower: the process has gone back in time. Nor if the number is the
// same, as behind a proxy: then it is the new connection's own.
func (p *Pipeline) dial(ctx context.Context, previous identity) (*wire, redis.Conn, identity, error) {
	var id identity
	w, rc, err := p.connect(ctx, p.loginTold, func(h *handshake) (err error) {
		id, err = p.greet(h, previous)
		return err
	})
	if err != nil {
		return nil, nil, identity{}, err
	}
	return w, rc, id, nil
}

// connect makes a connection and logs in. Then greet says what else has to be said before the
// connection serves. connect blocks for DialTimeout at most, and for credentialsGrace after it.
func (p *Pipeline) connect(
	ctx context.Context, ask func(context.Context) login, greet func(*handshake) error,
) (*wire, redis.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, p.cfg.DialTimeout)
	defer cancel()

	raw, err := p.cfg.Dialer(ctx, p.cfg.Network, p.cfg.Addr)
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
	h, err := p.logIn(ctx, w, ask)
	if err == nil {
		err = greet(h)
	}
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		_ = w.abort()
		if ctx.Err() != nil && !isConfig(err) {
			err = fmt.Errorf("%w: no complete handshake within %v", ErrTimeout, p.cfg.DialTimeout)
		}
		// Redis hangs up on plain commands where it expects TLS, and waits for the end of a
		// command where it gets a TLS handshake. It does not say which of them it was.
		switch silent := w.silent && p.cfg.Network != "unix" && !isConfig(err); {
		case silent && p.cfg.TLS == nil && errors.Is(err, ErrConnectionLost):
			err = fmt.Errorf("%w, and it had said nothing: if it speaks TLS, use a rediss:// URL", err)
		case silent && p.cfg.TLS != nil && errors.Is(err, ErrTimeout):
			err = fmt.Errorf("%w, and it had said nothing: if it does not speak TLS, use a redis:// URL", err)
		}
		return nil, nil, err
	}
	return w, h.rc, nil
}

func isConfig(err error) bool {
	var c *ConfigError
	return errors.As(err, &c)
}

// logIn does the TLS handshake and queues what comes first on a connection.
func (p *Pipeline) logIn(ctx context.Context, w *wire, ask func(context.Context) login) (*handshake, error) {
	if p.cfg.TLS != nil {
		conn, err := p.handshakeTLS(ctx, w.raw)
		if err != nil {
			return nil, err
		}
		w.Conn = conn
	}
	l := ask(ctx)
	if l.err != nil {
		return nil, &ConfigError{What: credentials, Err: redacted(withoutContext(l.err), l.password), passes: true}
	}
	h := &handshake{w: w, rc: redis.NewConn(w, 0, 0), secret: l.password, rotates: p.cfg.Credentials != nil}
	if l.password != "" {
		if l.username == "" {
			h.send("AUTH", "AUTH", l.password)
		} else {
			h.send("AUTH as "+l.username, "AUTH", l.username, l.password)
		}
	}
	return h, nil
}

// greet asks who answers, and loads the scripts that the master lacks. A master keeps a script
// as long as its process runs, whoever has loaded it. So nearly every connection finds all
// scripts there. Loading them each time would cost three round trips of TCP's slow start.
func (p *Pipeline) greet(h *handshake, previous identity) (identity, error) {
	if p.cfg.DB != 0 {
		h.send(fmt.Sprintf("SELECT %d", p.cfg.DB), "SELECT", p.cfg.DB)
	}
	var id identity
	h.ask("CLIENT", []any{"ID"}, func(reply any) { id.clientID, _ = reply.(int64) })
	h.ask("INFO", []any{"server"}, func(reply any) {
		info, _ := reply.([]byte)
		// Stats shows it, so it must not repeat the password.
		if id.runID = infoField(info, "run_id"); h.secret != "" && strings.Contains(id.runID, h.secret) {
			id.runID = ""
		}
	})
	h.name(p.cfg.ClientName)
	missing := p.cfg.Scripts // unless the master says otherwise
	if names := scriptNames(missing); names != nil {
		h.ask("SCRIPT", names, func(reply any) { missing = missingOf(p.cfg.Scripts, reply) })
	}
	if previous.isNone() {
		id.greeted = p.greetings()
		h.greet(id.greeted)
	}
	var ahead error
	h.ask("PING", nil, func(reply any) {
		if reply != "PONG" {
			ahead = protocolError("%.40q is no reply to PING: the replies are not those of the commands", reply)
		}
	})
	sent := time.Now()
	if err := h.run(); err != nil {
		return identity{}, err
	}
	p.roundTrip.CompareAndSwap(0, int64(time.Since(sent))) // until a call tells more exactly
	if ahead != nil {
		return identity{}, ahead
	}
	if previous.clientID != 0 && previous.clientID < id.clientID && previous.runID != "" && previous.runID == id.runID {
		h.ask("CLIENT", []any{"KILL", "ID", previous.clientID}, nil)
	}
	for _, s := range missing {
		h.ask("SCRIPT", []any{"LOAD", s.Source}, nil)
	}
	if err := h.run(); err != nil {
		return identity{}, err
	}
	h.w.shrink()
	return id, nil
}

func (p *Pipeline) handshakeTLS(ctx context.Context, raw net.Conn) (net.Conn, error) {
	conn := tls.Client(raw, p.tlsConfig())
	if err := conn.HandshakeContext(ctx); err != nil {
		if ctx.Err() != nil || broken(err) {
			return nil, connectionError(err)
		}
		return nil, &ConfigError{What: "TLS handshake", Err: withoutContext(err)}
	}
	return conn, nil
}

// tlsConfig is the configuration for one connection. It names the server also where the
// caller verifies by itself (InsecureSkipVerify with VerifyConnection): that compares the
// certificate with the ServerName of the connection, and compares nothing where it is empty.
// crypto/tls leaves it empty for an IP address, because it sends none as SNI.
func (p *Pipeline) tlsConfig() *tls.Config {
	cfg := p.cfg.TLS.Clone()
	if cfg.ServerName == "" {
		host, _, err := net.SplitHostPort(p.cfg.Addr)
		if err != nil {
			host = p.cfg.Addr
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

// backoff is the pause before the next dial after n failures in a row: none,
// then doubling from MinBackoff to MaxBackoff, each halved at random so that
// clients of a master that comes back do not arrive together.
func (p *Pipeline) backoff(n int) time.Duration {
	if n <= 0 {
		return 0
	}
	d := p.longestPause(n)
	return d/2 + p.jitter(d/2)
}

// brief is the life of a connection that a server ends as soon as it has it.
const brief = 100 * time.Millisecond

// proved reports whether a connection that began then has lasted so long that its loss is not
// one more of n failures in a row: for longer than the pause that would follow.
func (p *Pipeline) proved(begun time.Time, n int) bool {
	return time.Since(begun) > max(brief, p.longestPause(n))
}

// longestPause is the longest pause that backoff may return.
func (p *Pipeline) longestPause(n int) time.Duration {
	d := p.cfg.MaxBackoff
	if p.cfg.MinBackoff < d>>(n-1) { // so that doubling cannot overflow
		d = p.cfg.MinBackoff << (n - 1)
	}
	return d
}
