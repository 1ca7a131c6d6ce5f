package explain

import (
	"errors"
	"strings"

	"github.com/gomodule/redigo/redis"
)

// A refusedWrite is an error reply of a master to the write that every lock needs.
type refusedWrite struct {
	code   string // with which the error reply begins
	what   string // behind "it"
	remedy string // "%s" for the masters
}

var refusedWrites = []refusedWrite{
	{"OOM", "has no memory left for a lock", "Raise maxmemory on %s, or make room there: locks need little."},
	{"NOREPLICAS", "has fewer replicas than min-replicas-to-write, and refuses every write",
		"Bring back the replicas of %s, or CONFIG SET min-replicas-to-write 0."},
	{"MISCONF", "cannot save its data, and refuses every write",
		"Mend the disk of %s. Where snapshots alone fail (not the append-only file), " +
			"CONFIG SET stop-writes-on-bgsave-error no helps, too."},
	{"READONLY", "is a replica, and refuses every write", "List the master of %s, or make it one: REPLICAOF NO ONE."},
	{"LOADING", "is still loading its data", "Wait until %s has loaded its data."},
	{"BUSY", "runs a script that does not end",
		"End the script on %s: SCRIPT KILL, or where it has written (UNKILLABLE) wait, or kill the process."},
}

// A WriteError is why a master that can be reached refuses every client's write of a lock.
type WriteError struct{ Err error }

func (e *WriteError) Error() string { return e.Err.Error() }
func (e *WriteError) Unwrap() error { return e.Err }

// ScriptRefused returns a WriteError where a master answers a script with an err with which it
// would refuse a write; otherwise nil.
func ScriptRefused(err error) error {
	if _, refused := ofWrite(err); refused || err != nil && isSilence(err) {
		return &WriteError{err}
	}
	return nil
}

// ofWrite returns the Answer of a master that refuses writes; false: err is about something else.
func ofWrite(err error) (Answer, bool) {
	if reply, ok := errors.AsType[redis.Error](err); ok {
		for _, w := range refusedWrites {
			if strings.HasPrefix(string(reply), w.code+" ") {
				return Answer{Help: w.remedy, one: " " + w.what, many: ": each " + w.what}, true
			}
		}
	}
	if _, is := errors.AsType[*WriteError](err); !is {
		return Answer{}, false
	}
	if isSilence(err) {
		return said(" answers questions and no writes: its clients are paused",
			"CLIENT UNPAUSE on %s: masters do not say when the pause ends by itself."), true
	}
	return said(" refuses the write that a lock needs: "+err.Error(), "Look at the log of %s."), true
}
