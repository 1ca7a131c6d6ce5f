package redistest

import (
	"errors"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"
)

// PauseWrites has a server execute no writes for a while, by CLIENT PAUSE … WRITE.
// A server older than Redis 6.2 then executes no command at all. do sends it a
// command; with [Server.Do], the pause has to be shorter than 3 s.
func PauseWrites(do func(cmd string, args ...any) (any, error), d time.Duration) error {
	_, err := do("CLIENT", "PAUSE", d.Milliseconds(), "WRITE")
	if unknown(err) {
		_, err = do("CLIENT", "PAUSE", d.Milliseconds())
	}
	return err
}

// ResumeWrites ends such a pause. A server older than Redis 6.2 cannot end it
// early: there it waits for the end.
func ResumeWrites(do func(cmd string, args ...any) (any, error)) error {
	_, err := do("CLIENT", "UNPAUSE")
	if unknown(err) {
		_, err = do("PING")
	}
	return err
}

// unknown tells a server's refusal of a form of a command that it does not know.
func unknown(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply) && strings.Contains(strings.ToLower(string(reply)), "unknown subcommand")
}
