package pipeline

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"
)

// An identity is what a master said of itself and of our connection.
type identity struct {
	clientID int64   // CLIENT ID of the connection; 0: not told
	runID    string  // run_id of INFO server; "": not told
	greeted  []*Call // what greetings gave, with the replies
}

// isNone reports whether there was no connection.
func (id identity) isNone() bool { return id.clientID == 0 && id.runID == "" }

// dial connects, shakes hands and asks who answers. It blocks for DialTimeout
// at the most. previous is the identity of the connection before this one: if
// the same process still serves it, it is killed before the new connection
// carries anything, so that bytes of ours that are still on their way to the
// master are never executed (invariant S5). A run_id that differs means another
// process, to which the old number may belong to a stranger's connection; a
// number that does not differ (of a proxy) is the new connection's own.
func (p *Pipeline) dial(ctx context.Context, previous identity) (*wire, redis.Conn, identity, error) {
	var id identity
	w, rc, err := p.connect(ctx, func(h *handshake) (err error) {
		id, err = p.greet(h, previous)
		return err
	})
	return w, rc, id, err
}

// connect makes a connection, logs in, and has greet say what else is to be
// said before it serves. It blocks for DialTimeout at the most.
func (p *Pipeline) connect(ctx context.Context, greet func(*handshake) error) (*wire, redis.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, p.cfg.DialTimeout)
	defer cancel()

	raw, err := p.cfg.Dialer(ctx, p.cfg.Network, p.cfg.Addr)
	if err == nil && raw == nil {
		err = errors.New("the dialer returned neither a connection nor an error")
	}
	if err != nil {
		return nil, nil, withoutContext(err)
	}
	w := newWire(raw, raw)
	// The context ends whatever blocks below by closing the socket.
	stop := context.AfterFunc(ctx, func() { _ = w.abort() })
	h, err := p.logIn(ctx, w)
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
		if w.silent && !isConfig(err) {
			err = &silenceError{err}
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
func (p *Pipeline) logIn(ctx context.Context, w *wire) (*handshake, error) {
	if p.cfg.TLS != nil {
		conn, err := p.handshakeTLS(ctx, w.raw)
		if err != nil {
			return nil, err
		}
		w.Conn = conn
	}
	username, password := p.cfg.Username, p.cfg.Password
	if p.cfg.Credentials != nil {
		var err error
		if username, password, err = p.cfg.Credentials(ctx); err != nil {
			return nil, &ConfigError{What: credentials, Err: redacted(withoutContext(err), password), passes: true}
		}
	}
	h := &handshake{w: w, rc: redis.NewConn(w, 0, 0), secret: password, rotates: p.cfg.Credentials != nil}
	if password != "" {
		if username == "" {
			h.send("AUTH", "AUTH", password)
		} else {
			h.send("AUTH as "+username, "AUTH", username, password)
		}
	}
	return h, nil
}

// greet asks who answers, and loads the scripts that the master lacks. A master keeps a
// script for as long as its process runs, whoever has loaded it, so that nearly every
// connection finds all of them there: loading them each time would cost three round
// trips of TCP's slow start.
func (p *Pipeline) greet(h *handshake, previous identity) (identity, error) {
	if p.cfg.DB != 0 {
		h.send(fmt.Sprintf("SELECT %d", p.cfg.DB), "SELECT", p.cfg.DB)
	}
	var id identity
	h.ask("CLIENT", []any{"ID"}, func(reply any) { id.clientID, _ = reply.(int64) })
	h.ask("INFO", []any{"server"}, func(reply any) {
		info, _ := reply.([]byte)
		// It is shown in Stats: not whatever a server may repeat there.
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
	h.ask("PING", nil, nil)
	if err := h.run(); err != nil {
		return identity{}, err
	}
	if previous.clientID != 0 && previous.clientID != id.clientID && previous.runID != "" && previous.runID == id.runID {
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
	cfg := p.cfg.TLS.Clone()
	if cfg.ServerName == "" && !cfg.InsecureSkipVerify {
		host, _, err := net.SplitHostPort(p.cfg.Addr)
		if err != nil {
			host = p.cfg.Addr
		}
		cfg.ServerName = host
	}
	conn := tls.Client(raw, cfg)
	if err := conn.HandshakeContext(ctx); err != nil {
		if ctx.Err() != nil || broken(err) {
			return nil, connectionError(err)
		}
		return nil, &ConfigError{What: "TLS handshake", Err: withoutContext(err)}
	}
	return conn, nil
}

// A handshake is a list of commands sent in one flush, with what to do with
// each reply.
type handshake struct {
	w       *wire
	rc      redis.Conn
	secret  string
	rotates bool // the next dial may come with another one
	steps   []step
}

type step struct {
	what string // not "": a refusal ends the handshake
	then func(reply any)
	call *Call // gets the reply; nil: none
}

// send queues a command that has to succeed.
func (h *handshake) send(what, cmd string, args ...any) {
	h.steps = append(h.steps, step{what: what})
	h.w.asked.Add(1)
	_ = h.rc.Send(cmd, args...) // gathered by the wire; errors show at run
}

// ask queues a command that the master may refuse: less is known then, but
// locks work.
func (h *handshake) ask(cmd string, args []any, then func(reply any)) {
	h.steps = append(h.steps, step{then: then})
	h.w.asked.Add(1)
	_ = h.rc.Send(cmd, args...)
}

// greet queues calls, which get what the master says.
func (h *handshake) greet(calls []*Call) {
	for _, c := range calls {
		h.steps = append(h.steps, step{call: c})
		h.w.asked.Add(1)
		_ = h.rc.Flush() // what goes before, into the same buffer
		h.w.gather(c.Encoded)
	}
}

// name gives the connection a name that CLIENT LIST shows.
func (h *handshake) name(name string) {
	if name != "" {
		h.ask("CLIENT", []any{"SETNAME", name}, nil)
	}
}

// run sends what is queued, if anything is, and reads the replies.
func (h *handshake) run() error {
	steps := h.steps
	h.steps = nil
	if len(steps) == 0 {
		return nil
	}
	if err := h.rc.Flush(); err != nil {
		return connectionError(err)
	}
	if err := h.w.push(); err != nil {
		// A master that is full or denies says so and hangs up without reading;
		// what it said is still to be read.
		switch _, said := h.rc.Receive(); {
		case isReply(said):
			return h.refusal("handshake", said)
		case alerted(said):
			return h.ended(said)
		default:
			return connectionError(err)
		}
	}
	for _, s := range steps {
		reply, err := h.rc.Receive()
		if s.call != nil && (err == nil || isReply(err)) {
			s.call.Reply, s.call.Err = reply, nil
			if err != nil {
				s.call.Err = withoutPermission(s.call.Cmd, err)
			}
		}
		switch {
		case err == nil:
			if s.then != nil {
				s.then(reply)
			}
		case !isReply(err):
			return h.ended(err)
		case s.what != "" && !isLoading(err):
			return h.refusal(s.what, err)
		case shutsOut(err):
			return h.refusal("handshake", err)
		case isLoading(err):
			return redacted(err, h.secret)
		}
	}
	return nil
}

// refusal is why the master does not serve us.
func (h *handshake) refusal(what string, err error) error {
	passes := h.rotates || strings.HasPrefix(err.Error(), noRoom)
	return &ConfigError{What: what, Err: redacted(err, h.secret), passes: passes}
}

// ended explains a connection that broke during the handshake.
func (h *handshake) ended(err error) error {
	if h.w.frame.kind == tlsAlert && errors.Is(err, ErrProtocol) {
		return &ConfigError{What: "handshake", Err: errors.New("the master answers in TLS: use a rediss:// URL")}
	}
	// In TLS 1.3 a server refuses a client's certificate, or the lack of one,
	// after the client has finished its handshake.
	if alerted(err) {
		return &ConfigError{What: "TLS handshake", Err: err}
	}
	return connectionError(err)
}

// alerted reports whether err is an alert that came from the other side in
// TLS. crypto/tls has no exported type for it.
func alerted(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "remote error"
}

// broken reports whether err is the end of the connection, not a disagreement
// about what was spoken on it, which may be a net.OpError to crypto/tls as well.
func broken(err error) bool {
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Op != "remote error" && op.Op != "local error"
	}
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// tlsAlert is the first byte of a TLS alert record, which is what a server
// that expects TLS sends to one who speaks plainly.
const tlsAlert = 0x15

// redacted makes sure that a server (or proxy) that repeats the password in
// its refusal, or a credentials callback that does so, does not put it into our
// errors.
func redacted(err error, secret string) error {
	if secret == "" || !strings.Contains(err.Error(), secret) {
		return err
	}
	return errors.New(strings.ReplaceAll(err.Error(), secret, "[redacted]"))
}

// isLoading reports whether a master is still reading its data: it executes
// nothing yet, and releases that were kept for it would be lost.
func isLoading(err error) bool { return strings.HasPrefix(err.Error(), "LOADING") }

// noRoom is what a master says that has as many clients as it takes.
const noRoom = "ERR max number of clients"

// shutsOut reports whether a reply means that no command will be served on
// this connection.
func shutsOut(err error) bool {
	for _, prefix := range []string{"NOAUTH", "DENIED", noRoom} {
		if strings.HasPrefix(err.Error(), prefix) {
			return true
		}
	}
	return false
}

// infoField finds a field in the text of INFO; "" when it is not there.
func infoField(info []byte, name string) string {
	lines := bufio.NewScanner(bytes.NewReader(info))
	for lines.Scan() {
		if value, ok := strings.CutPrefix(lines.Text(), name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
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

// longestPause is what backoff gives at the most.
func (p *Pipeline) longestPause(n int) time.Duration {
	d := p.cfg.MaxBackoff
	if p.cfg.MinBackoff < d>>(n-1) { // so that doubling cannot overflow
		d = p.cfg.MinBackoff << (n - 1)
	}
	return d
}
