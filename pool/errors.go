package pool

import (
	"fmt"

	"github.com/redquorum/redquorum/internal/pipeline"
)

// The reasons why a command got no reply from a master; compare with errors.Is. None of them
// matches a context's error.
var (
	// ErrTimeout: the master did not answer in time. Whether it executed the command is not known.
	ErrTimeout = pipeline.ErrTimeout
	// ErrDown: the master could not be reached when last tried, or refused this client (then the
	// error has a *ConfigError, and says that the master is up); the command was not sent.
	ErrDown = pipeline.ErrDown
	// ErrStalled: the connection made no progress for the stall limit and was closed.
	ErrStalled = pipeline.ErrStalled
	// ErrConnectionLost: the connection broke before the reply came.
	ErrConnectionLost = pipeline.ErrConnectionLost
	// ErrQueueFull: as many commands as WithQueueLimit allows wait for this master already, or many
	// do while it answers none; the command was not sent.
	ErrQueueFull = pipeline.ErrQueueFull
	// ErrProtocol: the reply was not RESP2, or beyond the limits of one reply.
	ErrProtocol = pipeline.ErrProtocol
	// ErrClosed: the pool is closed.
	ErrClosed = pipeline.ErrClosed
)

// A ConfigError is a refusal by a master that is up: wrong password, missing permission, wrong
// database, TLS where the master speaks none, or the other way round. Waiting does not mend it,
// except where the master has too many clients, or where a credentials callback has other
// credentials for the next dial. Reach it with errors.As. Its text never holds a secret.
type ConfigError struct {
	What string // what was refused: AUTH, SELECT 3, TLS handshake, or the command that is not permitted
	Err  error  // usually the master's error reply
}

// Error is What, and the text of Err.
func (e *ConfigError) Error() string { return fmt.Sprintf("%s: %v", e.What, e.Err) }

// Unwrap gives Err.
func (e *ConfigError) Unwrap() error { return e.Err }

func init() {
	pipeline.Refusal = func(e *pipeline.ConfigError) error { return &ConfigError{What: e.What, Err: e.Err} }
}
