package redistest

import (
	"errors"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"
)

// PauseWrites stops a server from executing writes for d, with CLIENT PAUSE … WRITE. A server older
// than Redis 6.2 then executes no command at all. do sends a command to the server; with
// [Server.Do], the pause has to be shorter than 3 s.
func PauseWrites(do func(cmd string, args ...any) (any, error), d time.Duration) error {
	_, err := do("CLIENT", "PAUSE", d.Milliseconds(), "WRITE")
	if unknown(err) {
		_, err = do("CLIENT", "PAUSE", d.Milliseconds())
	}
	return err
}

// ResumeWrites ends such a pause. A server older than Redis 6.2 cannot end it early: ResumeWrites
// then waits for its end.
func ResumeWrites(do func(cmd string, args ...any) (any, error)) error {
	_, err := do("CLIENT", "UNPAUSE")
	if unknown(err) {
		_, err = do("PING")
	}
	return err
}

// unknown reports whether a server does not know this form of a command.
func unknown(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply) && strings.Contains(strings.ToLower(string(reply)), "unknown subcommand")
}
