package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/gomodule/redigo/redis"
)

// Why a call got no reply. None of them matches a context's error: a lock
// attempt must be able to tell its own context's end from a master's silence.
var (
	ErrTimeout        = errors.New("no answer in time")
	ErrDown           = errors.New("master is down")
	ErrStalled        = errors.New("master stopped answering")
	ErrConnectionLost = errors.New("connection lost")
	ErrQueueFull      = errors.New("too many commands are waiting for this master")
	ErrProtocol       = errors.New("reply breaks the Redis protocol")
	ErrClosed         = errors.New("pool is closed")
	ErrAbandoned      = errors.New("not sent, because nobody needs the answer any more")
)

// ErrConnecting is why a master is not connected before the first dial has been
// decided: nothing is known of it yet.
var ErrConnecting = errors.New("not connected yet")

// A DownError is what a call gets while its master cannot be used. It matches
// ErrDown and, through Cause, why the last attempt to connect failed.
type DownError struct{ Cause error }

func (e *DownError) Error() string {
	if refused, ok := errors.AsType[*ConfigError](e.Cause); ok {
		return fmt.Sprintf("%s (the master is up): %v", refused.verdict(), e.Cause)
	}
	return fmt.Sprintf("%v: %v", ErrDown, e.Cause)
}

func (e *DownError) Unwrap() []error { return []error{ErrDown, e.Cause} }

// A ConfigError is a refusal by a master that is up: wrong password, missing
// permission, wrong database, TLS where none is spoken or the other way round.
// No waiting mends it, but where IsLasting says otherwise. Its text never holds a
// secret. Users see it as the pool.ConfigError that it wraps.
type ConfigError struct {
	What string // what was refused: AUTH, SELECT 3, TLS handshake
	Err  error

	passes bool // the next dial may fare better
}

func (e *ConfigError) Error() string { return fmt.Sprintf("%s: %v", e.What, e.Err) }
func (e *ConfigError) Unwrap() error { return Refusal(e) }

// Refusal is the public error of a refusal, which wraps its Err. Package pool, which
// cannot be imported here, sets it when it is loaded.
var Refusal = func(e *ConfigError) error { return e.Err }

// verdict is what became of the dial, in two words.
func (e *ConfigError) verdict() string {
	switch {
	case strings.HasPrefix(e.What, "AUTH"):
		return "password refused"
	case e.What == credentials:
		return "no password"
	case strings.HasPrefix(e.Err.Error(), "NOAUTH"):
		return "password wanted"
	default:
		return "no session"
	}
}

// credentials is the What of a callback's error.
const credentials = "credentials"

// IsLasting reports whether err is, or wraps, a refusal that no waiting mends,
// only somebody who changes a configuration. A master that has too many clients
// may have fewer soon, and a callback may have other credentials for the next
// dial.
func IsLasting(err error) bool {
	refused, ok := errors.AsType[*ConfigError](err)
	return ok && !refused.passes
}

// withoutContext flattens an error that matches a context's error: net reports
// a dial that took too long as one that is context.DeadlineExceeded.
func withoutContext(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return fmt.Errorf("%w (%s)", ErrTimeout, err)
	default:
		return err
	}
}

// connectionError says how a connection ended, in terms of this package.
func connectionError(err error) error {
	switch {
	case errors.Is(err, ErrProtocol), errors.Is(err, ErrStalled), errors.Is(err, ErrClosed):
		return err
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: closed by the master", ErrConnectionLost)
	case strings.HasPrefix(err.Error(), "redigo: "):
		// redigo's own protocol errors have no type; the framing finds all of
		// them first, so this is the second line.
		return fmt.Errorf("%w: %s", ErrProtocol, strings.TrimPrefix(err.Error(), "redigo: "))
	default:
		return fmt.Errorf("%w: %w", ErrConnectionLost, withoutContext(err))
	}
}

// IsReply reports whether err is, or wraps, an error reply of the server.
func IsReply(err error) bool {
	if err == nil { // nearly always, and errors.AsType would allocate
		return false
	}
	_, ok := errors.AsType[redis.Error](err)
	return ok
}

// isReply reports whether err is an error reply of the server, after which the
// connection goes on.
func isReply(err error) bool {
	_, ok := err.(redis.Error) //nolint:errorlint // redigo returns the bare value; a wrapped one would be someone else's
	return ok
}

// withoutPermission makes a ConfigError of a reply that says that the user may
// not do this.
func withoutPermission(cmd string, err error) error {
	if strings.HasPrefix(err.Error(), "NOPERM") || strings.HasPrefix(err.Error(), "NOAUTH") {
		return &ConfigError{What: cmd, Err: err}
	}
	return err
}

// IsNoScript reports whether err is the reply NOSCRIPT: the script is not in
// the server's cache and has to be sent whole.
func IsNoScript(err error) bool {
	e, ok := err.(redis.Error) //nolint:errorlint // see isReply
	return ok && strings.HasPrefix(string(e), "NOSCRIPT")
}
