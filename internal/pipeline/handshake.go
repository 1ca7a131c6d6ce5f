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

// A handshake is a list of commands that are sent in one flush, and what to do with each reply.
type handshake struct {
	w       *wire
	rc      redis.Conn
	secret  string
	rotates bool // the next dial may use another secret
	steps   []step
}

type step struct {
	what string // not "": a refusal ends the handshake
	then func(reply any)
	call *Call // gets the reply; nil: none
}

// send queues a command that has to succeed.
func (h *handshake) send(what, cmd string, args ...any) { h.queue(step{what: what}, cmd, args) }

// ask queues a command that the master may refuse. Less is known then, and locks still work.
func (h *handshake) ask(cmd string, args []any, then func(reply any)) {
	h.queue(step{then: then}, cmd, args)
}

func (h *handshake) queue(s step, cmd string, args []any) {
	h.steps = append(h.steps, s)
	h.w.asked.Add(1)
	_ = h.rc.Send(cmd, args...) // gathered by the wire; errors show at run
}

// greet queues calls, which get the master's replies.
func (h *handshake) greet(calls []*Call) {
	for _, c := range calls {
		h.steps = append(h.steps, step{call: c})
		h.w.asked.Add(1)
		_ = h.rc.Flush() // moves the commands before it into the same buffer
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
		// A master that is full, or denies access, sends an error and closes the connection
		// without reading. Its error can still be read.
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

// refusal returns the error of a master that does not serve this client.
func (h *handshake) refusal(what string, err error) error {
	passes := h.rotates || strings.HasPrefix(err.Error(), noRoom)
	return &ConfigError{What: what, Err: excerpt(redacted(err, h.secret)), passes: passes}
}

// ended explains a connection that broke during the handshake.
func (h *handshake) ended(err error) error {
	if h.w.frame.kind == tlsAlert && errors.Is(err, ErrProtocol) {
		return &ConfigError{What: "handshake", Err: errors.New("the master answers in TLS: use a rediss:// URL")}
	}
	// In TLS 1.3 a server refuses a client's certificate, or the lack of one, after the client
	// has finished its handshake.
	if alerted(err) {
		return &ConfigError{What: "TLS handshake", Err: err}
	}
	return connectionError(err)
}

// alerted reports whether err is a TLS alert from the other side. crypto/tls has no exported type
// for it.
func alerted(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "remote error"
}

// broken reports whether err is the end of the connection and not a failed TLS handshake.
// crypto/tls reports both as a net.OpError.
func broken(err error) bool {
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Op != "remote error" && op.Op != "local error"
	}
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// tlsAlert is the first byte of a TLS alert record. A server that expects TLS sends such a record
// to a client that does not use it.
const tlsAlert = 0x15

// redacted removes the password from an error. Servers, proxies and credentials callbacks may
// repeat it in theirs.
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

// isLoading reports whether a master is still loading its data. It executes nothing yet, and
// releases that were kept for it would be lost.
func isLoading(err error) bool { return strings.HasPrefix(err.Error(), "LOADING") }

// noRoom begins the reply of a master that has reached its limit of clients.
const noRoom = "ERR max number of clients"

// shutsOut reports whether a reply means that no command will be served on this connection.
func shutsOut(err error) bool {
	return slices.ContainsFunc([]string{"NOAUTH", "DENIED", noRoom}, func(prefix string) bool {
		return strings.HasPrefix(err.Error(), prefix)
	})
}

// infoField returns a field of the text of INFO; "" if it is not there.
func infoField(info []byte, name string) string {
	lines := bufio.NewScanner(bytes.NewReader(info))
	for lines.Scan() {
		if value, ok := strings.CutPrefix(lines.Text(), name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
