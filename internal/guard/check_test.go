package guard

import (
	"bytes"
	"strings"
	"testing"

	"github.com/gomodule/redigo/redis"
)

func TestTheCheckReadsAMarkWhereAMasterHasTheHistoryOfItsMarker(t *testing.T) {
	const info = "# Replication\r\nrole:master\r\nconnected_slaves:0\r\nmaster_replid:" + otherID + "\r\nmaster_replid2:" + id + "\r\n"
	texts := func(values ...string) any {
		reply := make([]any, len(values))
		for i, v := range values {
			reply[i] = []byte(v)
		}
		return reply
	}
	right := texts(id, "1000", otherID, "0")
	own := Marker{Fields: Fields{Run: id, Replid: otherID, Since: "1000", DB: "0"}}.Mark()
	unread := mark(id, "1000", "", "0") // differs from the mark of a master whose history was judged
	with := func(old, by string) any { return []byte(strings.Replace(info, old, by, 1)) }
	for name, test := range map[string]struct {
		replies [2]any
		mark    string
		err     bool
	}{
		"as it was judged":                 {replies: [2]any{[]byte(info), right}, mark: own},
		"judged without a history":         {replies: [2]any{[]byte(info), texts(id, "1000", "", "0")}, mark: mark(id, "1000", "", "0")},
		"INFO is not permitted":            {replies: [2]any{redis.Error("NOPERM this user has no permissions"), right}, mark: unread},
		"INFO is renamed":                  {replies: [2]any{redis.Error("ERR unknown command 'INFO'"), right}, mark: unread},
		"another error of INFO":            {replies: [2]any{redis.Error("BUSY Redis is busy"), right}, err: true},
		"an error of the marker":           {replies: [2]any{[]byte(info), redis.Error("WRONGTYPE")}, err: true},
		"neither is permitted":             {replies: [2]any{redis.Error("NOPERM"), redis.Error("NOPERM")}, err: true},
		"a replica":                        {replies: [2]any{with("role:master", "role:slave"), right}},
		"a replica that is named like one": {replies: [2]any{with("role:master", "role:slave\r\nslave0:ip=role:master"), right}},
		"another history":                  {replies: [2]any{with("master_replid:"+otherID, "master_replid:"+id), right}},
		"the history before":               {replies: [2]any{[]byte(info), texts(id, "1000", id, "0")}},
		"a history in a replica's name":    {replies: [2]any{with("master_replid:"+otherID, "slave0:ip=master_replid:"+otherID), right}},
		"INFO is no text":                  {replies: [2]any{int64(1), right}},
		"no marker":                        {replies: [2]any{[]byte(info), []any{nil, nil, nil, nil}}},
		"no process":                       {replies: [2]any{[]byte(info), texts("", "1000", otherID, "0")}},
		"three fields":                     {replies: [2]any{[]byte(info), texts(id, "1000", otherID)}},
		"five fields":                      {replies: [2]any{[]byte(info), texts(id, "1000", otherID, "0", "0")}},
		"a number among them":              {replies: [2]any{[]byte(info), []any{[]byte(id), int64(1000), []byte(otherID), []byte("0")}}},
		"not even that":                    {replies: [2]any{[]byte(info), nil}},
	} {
		got, err := ReadCheck(test.replies)
		if got != test.mark || (err != nil) != test.err {
			t.Errorf("%s: %q, %v; want %q, error %t", name, got, err, test.mark, test.err)
		}
	}
	if got := mark("1", "23"); got == mark("12", "3") {
		t.Errorf("two markers have the mark %q", got)
	}
}

// If INFO is as before, a flush is judged by the result of the last check. So both checks must give
// the same mark, with any marker.
func TestACheckThatSaysTheSameHasTheSameMark(t *testing.T) {
	info := func(role, replid, offset string) []byte {
		return []byte("# Replication\r\nrole:" + role + "\r\nconnected_slaves:1\r\nslave0:ip=::1,port=1,state=online,offset=" + offset +
			",lag=0\r\nmaster_replid:" + replid + "\r\nmaster_replid2:" + id + "\r\nmaster_repl_offset:" + offset + "\r\n")
	}
	before := info("master", otherID, "9")
	unended, _, _ := bytes.Cut(before, []byte("\r\nmaster_replid2"))
	for name, now := range map[string][]byte{
		"a replica": info("slave", otherID, "9"), "another history": info("master", id, "9"), "part of a history": info("master", otherID[:39], "9"),
		"a history without an end": unended, "nothing": nil,
	} {
		if SameCheck(before, now) || SameCheck(now, before) {
			t.Errorf("%s is the same", name)
		}
	}
	if SameCheck(unended, unended) {
		t.Error("a history without an end is the same as itself")
	}
	for name, now := range map[string][]byte{"itself": before, "what was written since": info("master", otherID, "10")} {
		if !SameCheck(before, now) {
			t.Errorf("%s is not the same", name)
		}
		for _, replid := range []string{otherID, id, ""} {
			fields := []any{[]byte(id), []byte("1000"), []byte(replid), []byte("0")}
			last, err := ReadCheck([2]any{before, fields})
			if mark, again := ReadCheck([2]any{now, fields}); mark != last || err != nil || again != nil {
				t.Errorf("%s, with the history %q: %q, %v; before %q, %v", name, replid, mark, again, last, err)
			}
		}
	}
}
