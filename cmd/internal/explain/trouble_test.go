package explain

import (
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/pool"
)

// The advice names only what helps: no credentials where connections run out, no ACL for a script.
func TestWhatIsAdvisedFitsWhatAMasterSays(t *testing.T) {
	t.Parallel()
	const disk = "Mend the disk of %s. Where snapshots alone fail (not the append-only file), " +
		"CONFIG SET stop-writes-on-bgsave-error no helps, too."
	down := func(cause error) error {
		return &guard.AbstainError{Cause: guard.NotConnected, Err: &pipeline.DownError{Cause: cause}}
	}
	for name, test := range map[string]struct {
		err         error
		short, help string
	}{
		"nobody knows why": {pool.ErrDown, "down", "Start %s, or mend the network to it."},
		"a script that does not end": {
			redis.Error("BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE."),
			"runs a script that does not end",
			"End the script on %s: SCRIPT KILL, or where it has written (UNKILLABLE) wait, or kill the process.",
		},
		"no room for a client": {
			down(&pipeline.ConfigError{What: "handshake", Err: redis.Error("ERR max number of clients reached")}),
			"no session (the master is up): handshake: ERR max number of clients reached",
			"Raise maxclients on %s, or find out who holds its connections: CLIENT LIST.",
		},
		"no room for a file here": {
			down(&net.OpError{Op: "dial", Err: os.NewSyscallError("socket", syscall.EMFILE)}),
			"down: too many open files",
			"Raise the limit of open files here (ulimit -n): %s could not be asked.",
		},
		"snapshots fail": {
			redis.Error("MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk."),
			"cannot save its data, and refuses every write", disk,
		},
		"a marker of another version": {
			&guard.AbstainError{
				Cause: guard.OtherFleet, Value: "5 masters, MaxTTL 1m0s, level standard, version 9 instead of 3",
				Want: "5 masters, MaxTTL 1m0s, level standard",
			},
			"its marker says 5 masters, MaxTTL 1m0s, level standard, version 9 instead of 3",
			"Use the version of redlock that the other clients of %s use. Only where no client is running: redlock init --force.",
		},
		"TLS at a plain port": {
			down(fmt.Errorf("%w, and it had said nothing: if it does not speak TLS, use a redis:// URL", pipeline.ErrTimeout)),
			"does not answer", strings.TrimSuffix(noAnswer, ".") + "; if it does not speak TLS, use a redis:// URL.",
		},
		"a TLS port without TLS": {
			down(fmt.Errorf("read: %w, and it had said nothing: if it speaks TLS, use a rediss:// URL", syscall.ECONNRESET)),
			"down: connection reset by peer", "Start %s, or mend the network to it; if it speaks TLS, use a rediss:// URL.",
		},
		"a port of HTTP": {
			down(fmt.Errorf("handshake: %w: a reply that begins with 'H'", pipeline.ErrProtocol)),
			"down: handshake: reply breaks the Redis protocol: a reply that begins with 'H'",
			"List the port of a Redis in the place of %s: something else answers there.",
		},
	} {
		if short, help := Short(test.err), Help(test.err); short != test.short || help != test.help {
			t.Errorf("%s:\n%q, %q, want\n%q, %q", name, short, help, test.short, test.help)
		}
	}
}
