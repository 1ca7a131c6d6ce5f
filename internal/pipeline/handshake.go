package pipeline

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"slices"
	"strings"

	"github.com/gomodule/redigo/redis"
)

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
func (h *handshake) send(what, cmd string, args ...any) { h.queue(step{what: what}, cmd, args) }

// ask queues a command that the master may refuse: less is known then, but
// locks work.
func (h *handshake) ask(cmd string, args []any, then func(reply any)) {
	h.queue(step{then: then}, cmd, args)
}

func (h *handshake) queue(s step, cmd string, args []any) {
	h.steps = append(h.steps, s)
	h.w.asked.Add(1)
	_ = h.rc.Send(cmd, args...) // gathered by the wire; errors show at run
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
				s.call.Err = refusedWith(s.call.Cmd, err)
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
			return excerpt(redacted(err, h.secret))
		}
	}
	return nil
}

// refusal is why the master does not serve us.
func (h *handshake) refusal(what string, err error) error {
	passes := h.rotates || strings.HasPrefix(err.Error(), noRoom)
	return &ConfigError{What: what, Err: excerpt(redacted(err, h.secret)), passes: passes}
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
	text := strings.ReplaceAll(err.Error(), secret, "[redacted]")
	if isReply(err) {
		return redis.Error(text)
	}
	return errors.New(text)
}

// isLoading reports whether a master is still reading its data: it executes
// nothing yet, and releases that were kept for it would be lost.
func isLoading(err error) bool { return strings.HasPrefix(err.Error(), "LOADING") }

// noRoom is what a master says that has as many clients as it takes.
const noRoom = "ERR max number of clients"

// shutsOut reports whether a reply means that no command will be served on
// this connection.
func shutsOut(err error) bool {
	return slices.ContainsFunc([]string{"NOAUTH", "DENIED", noRoom}, func(prefix string) bool {
		return strings.HasPrefix(err.Error(), prefix)
	})
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
