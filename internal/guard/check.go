package guard

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/gomodule/redigo/redis"
)

// CheckCommands end each flush that carries what asks for a vote. The replies say
// whether the master is still the one that was judged: the votes of the flush
// count only if ReadCheck makes Marker.Mark of them. They change nothing.
//
// Others may do something between the two. Each says that nothing it shows had
// changed up to then, and so both say it of all that stands before them in the
// flush (S1): what a master has forgotten it does not get back. A script that reads
// both costs the master several times as much.
var CheckCommands = [...][]any{
	{"INFO", "replication"},
	{"HMGET", Key, "run", "since", "replid", "db"},
}

// Mark is what ReadCheck returns while the master is the one that was judged.
func (m Marker) Mark() string { return mark(m.Run, m.Since, m.Replid, m.DB) }

// mark is the same for the same values alone.
func mark(values ...string) string {
	var b strings.Builder
	for _, v := range values {
		b.WriteString(strconv.Itoa(len(v)))
		b.WriteByte(' ')
		b.WriteString(v)
	}
	return b.String()
}

// ReadCheck makes a mark of the marker's fields, where the replies to
// CheckCommands are those of a master whose data have the history that the marker
// names; otherwise "". A resynchronisation copies the marker, and leaves the
// process and the connection as they are. The error is an error reply. Who may not
// ask INFO has been judged without a history, and is checked without it.
func ReadCheck(replies [2]any) (string, error) {
	info, _ := replies[0].([]byte)
	refused, _ := replies[0].(redis.Error)
	if refused != "" && !notPermitted(refused) {
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
	case !bytes.Contains(info, []byte("\nrole:master\r\n")), !bytes.Contains(info, []byte("\nmaster_replid:"+fields[2])):
		return "", nil
	}
	return mark(fields...), nil
}

// notPermitted reports whether a user may not run a command, or the server has
// none of that name.
func notPermitted(refused redis.Error) bool {
	return strings.HasPrefix(string(refused), "NOPERM") || strings.HasPrefix(string(refused), "ERR unknown command")
}
