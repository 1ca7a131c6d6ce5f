package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gomodule/redigo/redis"
)

// Why a call got no reply. None of these errors matches a context's error: a lock attempt
// must know whether its own context has ended or a master did not answer.
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

// ErrConnecting says that the first dial has neither succeeded nor failed yet: nothing is
// known about the master.
var ErrConnecting = errors.New("still connecting")

// A DownError is the error of calls while their master cannot be used. It matches ErrDown,
// and Cause, which says why the last attempt to connect failed. Before the first attempt has
// ended, and while one waits for credentials, Cause says so: the master need not be down.
type DownError struct{ Cause error }

func (e *DownError) Error() string {
	if _, waits := errors.AsType[*waitingError](e.Cause); waits || errors.Is(e.Cause, ErrConnecting) {
		return e.Cause.Error()
	}
	if refused, ok := errors.AsType[*ConfigError](e.Cause); ok {
		verdict := refused.verdict()
		text := fmt.Sprintf("%s (the master is up): %v", verdict, e.Cause)
		if strings.Contains(verdict, "password") {
			text = strings.TrimSuffix(text, ".") + "; mend its credentials" // Redis ends some errors with a dot
		}
		return text
	}
	return fmt.Sprintf("%v: %v", ErrDown, e.Cause)
}

// Is and Unwrap run for each call to a master that is down. An Unwrap that returns a slice would
// allocate each time.
func (e *DownError) Is(target error) bool { return target == ErrDown }
func (e *DownError) Unwrap() error        { return e.Cause }

// A ConfigError is a refusal by a master that is up: a wrong password, a missing
// permission, a wrong database, a TLS handshake that fails. Waiting does not help, except where
// IsLasting reports false. Its text never holds a secret. Users see it as the
// pool.ConfigError that it wraps.
type ConfigError struct {
	What string // what was refused: AUTH, SELECT 3, TLS handshake
	Err  error

	passes bool // the next dial may succeed
}

func (e *ConfigError) Error() string { return fmt.Sprintf("%s: %v", e.What, e.Err) }
func (e *ConfigError) Unwrap() error { return Refusal(e) }

// Refusal returns the public error for a ConfigError. Package pool sets it in its init,
// because this package cannot import pool.
var Refusal = func(e *ConfigError) error { return e.Err }

// verdict says in two words what was refused: the dial, or a command.
func (e *ConfigError) verdict() string {
	switch {
	case strings.HasPrefix(e.What, "AUTH"):
		return "password refused"
	case e.What == credentials:
		return "no password"
	case strings.HasPrefix(e.Err.Error(), "NOAUTH"):
		return "password wanted"
	case strings.HasPrefix(e.Err.Error(), "NOPERM"):
		return "not permitted"
	default:
		return "no session"
	}
}

// credentials is the What of an error that the credentials callback returned.
const credentials = "credentials"

// IsLasting reports whether err is, or wraps, a refusal that lasts until somebody changes
// a configuration. Two refusals do not last: a master with too many clients may have fewer
// soon, and a callback may return other credentials for the next dial.
func IsLasting(err error) bool {
	refused, ok := errors.AsType[*ConfigError](err)
	return ok && !refused.passes
}

// isAnswer reports whether a dial failed because of the master's answer, not of the connection.
func isAnswer(err error) bool { return isConfig(err) || IsReply(err) || errors.Is(err, ErrProtocol) }

// withoutContext replaces an error that matches a context's error. Package net reports a
// dial that took too long as context.DeadlineExceeded.
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

// connectionError returns the error of this package for the end of a connection.
func connectionError(err error) error {
	switch {
	case errors.Is(err, ErrProtocol), errors.Is(err, ErrStalled), errors.Is(err, ErrClosed):
		return err
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: closed by the master", ErrConnectionLost)
	case strings.HasPrefix(err.Error(), "redigo: "):
		// redigo's protocol errors have no type. The framer finds all of them first, so
		// this is a second line of defence.
		return fmt.Errorf("%w: %s", ErrProtocol, strings.TrimPrefix(err.Error(), "redigo: "))
	default:
		return fmt.Errorf("%w: %w", ErrConnectionLost, withoutContext(err))
	}
}

// IsReply reports whether err is, or wraps, an error reply of the server.
func IsReply(err error) bool {
	if err == nil { // the usual case, in which errors.AsType would allocate
		return false
	}
	_, ok := errors.AsType[redis.Error](err)
	return ok
}

// isReply reports whether err is an error reply of the server. The connection stays
// usable after one.
func isReply(err error) bool {
	_, ok := err.(redis.Error) //nolint:errorlint // redigo returns the bare value; a wrapped one has another source
	return ok
}

// longestText is how many bytes of a master's text errors and logs repeat at most. Redis' own
// texts are shorter. A script or proxy may send up to maxLine.
const longestText = 512

// Excerpt returns a master's text as errors repeat it: whole, or its beginning and its length.
func Excerpt(text string) string {
	if len(text) <= longestText {
		return text
	}
	end := longestText
	for end > longestText-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return fmt.Sprintf("%s… (%d bytes)", text[:end], len(text))
}

// excerpt shortens the text of an error reply to what errors repeat.
func excerpt(err error) error {
	if said, ok := err.(redis.Error); ok && len(said) > longestText { //nolint:errorlint // see isReply
		return redis.Error(Excerpt(string(said)))
	}
	return err
}

// refusedWith returns the error of a call that the master has answered with an error: a
// ConfigError if the user lacks a permission.
func refusedWith(cmd string, err error) error {
	err = excerpt(err)
	if strings.HasPrefix(err.Error(), "NOPERM") || strings.HasPrefix(err.Error(), "NOAUTH") {
		return &ConfigError{What: cmd, Err: err}
	}
	return err
}

// WroteNothing reports whether err is a reply that proves that nothing was written. For these
// reasons Redis refuses a whole command, or the first write of a script, but no later write.
// Other errors of a script may follow a write. So may NOPERM.
func WroteNothing(err error) bool {
	if !IsReply(err) {
		return false
	}
	reply := err.Error()
	return slices.ContainsFunc(refusesToWrite, func(prefix string) bool { return strings.HasPrefix(reply, prefix) })
}

var refusesToWrite = []string{"MISCONF ", "OOM ", "READONLY ", "NOREPLICAS ", "BUSY ", "MASTERDOWN ", "LOADING "}

// IsNoScript reports whether err is the reply NOSCRIPT, or the refusal of EVALSHA itself: the
// script's source has to be sent.
func IsNoScript(err error) bool {
	if err == nil { // as in IsReply
		return false
	}
	reply, ok := errors.AsType[redis.Error](err)
	return ok && wantsSource.MatchString(string(reply))
}

// wantsSource matches the reply NOSCRIPT, and Redis' replies if the user may not run EVALSHA or if
// that command was renamed.
var wantsSource = regexp.MustCompile(
	"^(NOSCRIPT|NOPERM .*the 'evalsha' command|(?i:ERR unknown command ['`]evalsha['`]))")
