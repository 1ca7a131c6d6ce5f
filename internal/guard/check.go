package guard

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/gomodule/redigo/redis"
)

// CheckCommands end each flush that asks for votes. Their replies say whether the master still is
// as it was judged: the votes of the flush count only if ReadCheck makes Marker.Mark of these
// replies. The commands change nothing.
//
// Other clients may do something between the two. Still, each reply shows that nothing that it
// reads had changed until then. So both together show that for all commands before them in the
// flush (S1): a master does not get back what it has forgotten. One script that reads both would
// cost the master several times as much.
var CheckCommands = [...][]any{
	{"INFO", "replication"},
	{"HMGET", Key, "run", "since", "replid", "db"},
}

// Mark is what ReadCheck returns while the master is as it was judged. It has no history if INFO
// said nothing of the master's replication.
func (f Facts) Mark() string {
	m := f.Marker
	if f.Info.Role == "" {
		m.Replid = ""
	}
	return m.Mark()
}

// Mark is what ReadCheck returns for a master with this marker and its history.
func (m Marker) Mark() string { return mark(m.Run, m.Since, m.Replid, m.DB) }

// mark returns equal texts only for equal values.
func mark(values ...string) string {
	var b strings.Builder
	for _, v := range values {
		b.WriteString(strconv.Itoa(len(v)))
		b.WriteByte(' ')
		b.WriteString(v)
	}
	return b.String()
}

// ReadCheck makes a mark of the marker's fields, if the replies to CheckCommands come from a master
// whose data has the history that the marker names; otherwise the mark is "". A resynchronisation
// copies the marker, and leaves the process and the connection as they are. The error is an error
// reply. If INFO is not permitted, the mark has no history: it fits a master that was judged
// without one, and no other.
func ReadCheck(replies [2]any) (string, error) {
	info, _ := replies[0].([]byte)
	refused, _ := replies[0].(redis.Error)
	if refused != "" && !notPermitted(refused) && !NoSection(refused) {
		return "", refused
	}
	fields, err := redis.Strings(replies[1], nil)
	switch {
	case err != nil:
		if failed, ok := replies[1].(redis.Error); ok {
			return "", failed
		}
		return "", nil // something else, or no marker
	case len(fields) != 4, fields[0] == "" || fields[1] == "":
		return "", nil
	case refused != "":
		fields[2] = ""
	default:
		if replid, ok := replidOf(info); !ok || fields[2] != "" && fields[2] != string(replid) {
			return "", nil
		}
	}
	return mark(fields...), nil
}

// SameCheck reports whether two replies to the first of CheckCommands mean the same to ReadCheck.
// It does not compare their bytes: with the append-only file on (Redis 7.2) or replicas attached,
// INFO counts what was written.
func SameCheck(before, now []byte) bool {
	replid, ok := replidOf(now)
	last, known := replidOf(before)
	return ok && known && bytes.Equal(replid, last)
}

// replidOf is the master_replid that INFO gives for a master. ok is false for anything else.
func replidOf(info []byte) (replid []byte, ok bool) {
	_, rest, found := bytes.Cut(info, []byte("\nmaster_replid:"))
	replid, _, ended := bytes.Cut(rest, []byte("\r\n"))
	return replid, found && ended && bytes.Contains(info, []byte("\nrole:master\r\n"))
}

// notPermitted reports whether a user may not run a command, or the server has none of that name.
func notPermitted(refused redis.Error) bool {
	return strings.HasPrefix(string(refused), "NOPERM") || strings.HasPrefix(string(refused), "ERR unknown command")
}

// NoSection reports whether a server answers INFO that it has no such section. miniredis does, in a
// text without an error code.
func NoSection(refused error) bool {
	said := refused.Error()
	return strings.HasPrefix(said, "section (") && strings.HasSuffix(said, ") is not supported")
}
