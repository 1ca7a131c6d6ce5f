package say

import (
	"errors"
	"strings"

	"github.com/gomodule/redigo/redis"
)

// A refusedWrite is how masters that answer refuse the write that every lock needs.
type refusedWrite struct {
	code   string // with which the error reply begins
	what   string // behind "it"
	remedy string // "%s" for the masters
}

var refusedWrites = []refusedWrite{
	{"OOM", "has no memory left for a lock", "Raise maxmemory on %s, or make room there: locks need little."},
	{"NOREPLICAS", "has fewer replicas than min-replicas-to-write, and refuses every write", "Bring back the replicas of %s, or CONFIG SET min-replicas-to-write 0."},
	{"MISCONF", "cannot save its data, and refuses every write", "Mend the disk of %s, or CONFIG SET stop-writes-on-bgsave-error no."},
	{"READONLY", "is a replica, and refuses every write", "List the master of %s, or make it one: REPLICAOF NO ONE."},
	{"LOADING", "is still loading its data", "Wait until %s has loaded its data."},
	{"BUSY", "runs a script that does not end", "End the script on %s: SCRIPT KILL."},
}

// RefusesWrites reports whether a master that can be reached answers a write, or a script, with this error whoever asks.
func RefusesWrites(err error) bool { return err != nil && (writeRefusal(err) != nil || IsSilence(err)) }

// refuses is how a master that can be reached refuses the write that a lock needs, behind "it".
func refuses(err error) string {
	if w := writeRefusal(err); w != nil {
		return w.what
	}
	if IsSilence(err) {
		return "answers questions and no writes: its clients are paused"
	}
	return "refuses the write that a lock needs: " + err.Error()
}

// WriteHelp is what helps where a master that answers refuses the write of a lock, with "%s" for its name.
func WriteHelp(err error) string {
	if abstention(err) != nil {
		return Help(err)
	}
	if w := writeRefusal(err); w != nil {
		return w.remedy
	}
	if IsSilence(err) {
		return "CLIENT UNPAUSE on %s: masters do not say when the pause ends by itself."
	}
	return "Look at the log of %s."
}

func writeRefusal(err error) *refusedWrite {
	var reply redis.Error
	if !errors.As(err, &reply) {
		return nil
	}
	for i := range refusedWrites {
		if strings.HasPrefix(string(reply), refusedWrites[i].code+" ") {
			return &refusedWrites[i]
		}
	}
	return nil
}
