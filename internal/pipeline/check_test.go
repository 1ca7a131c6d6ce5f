package pipeline

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/gomodule/redigo/redis"
)

// testCheck makes a mark of the replies to its two commands. Texts that begin with the same byte
// are the same to it.
var testCheck = NewCheck([checkSize][]any{{"FIRST", 1}, {"SECOND", "marker"}}, func(replies [checkSize]any) (string, error) {
	for _, reply := range replies {
		if err, failed := reply.(redis.Error); failed {
			return "", err
		}
	}
	first, second := rawOf(replies[0]), rawOf(replies[1])
	if first == "" || second == "" {
		return "", nil
	}
	return first + second, nil
}, func(before, now []byte) bool { return before[0] == now[0] })

// startChecked queues calls. Those whose names begin with VOTE ask for the check. Before the first
// connection is up, all of them share a flush.
func startChecked(t *testing.T, p *Pipeline, cmds ...string) (all []*waiter) {
	t.Helper()
	for _, cmd := range cmds {
		w := newWaiter(t, cmd)
		if strings.HasPrefix(cmd, "VOTE") {
			w.call.Check = testCheck
		}
		all = append(all, w.queue(p))
	}
	return all
}

// Replies of a master to the check.
const saysA, saysB, saysList = "$1\r\na\r\n", "$1\r\nb\r\n", "*2\r\n$2\r\nr1\r\n$-1\r\n"

func TestOneCheckEndsAFlushAndAnswersAllItsCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, g, p := atGate(t)
		replies := map[string]string{"FIRST": saysA, "SECOND": saysList, "VOTE-BAD": "-ERR bad\r\n"} // synctest.Wait orders it
		s.reply = answers(replies)
		goOn := s.hold("SECOND")
		calls := startChecked(t, p, "VOTE1", "PLAIN", "VOTE-BAD", "VOTE2")
		g.next <- nil
		calls[1].wait()
		synctest.Wait()
		for _, i := range []int{0, 2, 3} {
			if !calls[i].pending() {
				t.Errorf("%s is complete before the check", calls[i].call.Cmd)
			}
		}
		goOn()
		for i, w := range calls {
			c := w.wait()
			if want := i != 1; want && c.Said().Mark != saysA+saysList || !want && c.Said().Mark != "" || c.Said().Err != nil {
				t.Errorf("%s: mark %q, %v", c.Cmd, c.Said().Mark, c.Said().Err)
			}
			if (c.Err != nil) != (c.Cmd == "VOTE-BAD") {
				t.Errorf("%s: error %v", c.Cmd, c.Err)
			}
		}
		if got := strings.Join(s.conn(1).calls(), ", "); got != "VOTE1, PLAIN, VOTE-BAD, VOTE2, FIRST 1, SECOND marker" {
			t.Errorf("it was asked %s", got)
		}

		for _, test := range []struct{ first, second, mark string }{
			{saysA, saysList, saysA + saysList},
			{saysB, saysList, saysB + saysList},
			{saysB, saysA, saysB + saysA},
			{saysB, saysA, saysB + saysA},
			{"-NOPERM\r\n", saysA, ""},
			{saysB, "-WRONGTYPE it is a string\r\n", ""},
			{saysB, saysA, saysB + saysA},
			{"$-1\r\n", "*2\r\n$-1\r\n$-1\r\n", "$-1\r\n*2\r\n$-1\r\n$-1\r\n"},
			{"+OK\r\n", saysA, ""},
			{saysA, "*2\r\n:1\r\n$1\r\n7\r\n", ""},
			{saysA, saysList, saysA + saysList},
			{"$2\r\nax\r\n", saysList, saysA + saysList},
			{"$3\r\nayz\r\n", saysB, saysA + saysB},
			{"$2\r\nbx\r\n", "$2\r\nbx\r\n", "$2\r\nbx\r\n" + saysB},
			{"-NOPERM\r\n", saysB, ""},
			{"$2\r\nby\r\n", saysB, "$2\r\nby\r\n" + saysB},
			{"+by\r\n", saysB, ""},
		} {
			synctest.Wait()
			replies["FIRST"], replies["SECOND"] = test.first, test.second
			failed := strings.HasPrefix(test.first, "-") || strings.HasPrefix(test.second, "-")
			c := startChecked(t, p, "VOTE")[0].wait()
			if c.Err != nil || c.Said().Mark != test.mark || (c.Said().Err != nil) != failed {
				t.Errorf("the check says %q, %q: mark %q, %v; error %v", test.first, test.second, c.Said().Mark, c.Said().Err, c.Err)
			}
		}
	})
}

func TestASplitReplyOfACheckIsReadWhole(t *testing.T) {
	for _, first := range []string{saysA, "$7\r\na\r\nrest\r\n"} { // the second one seems to end where it is split
		inBubble(t, first, func(t *testing.T) {
			s := newFakeServer(t)
			split := func(c *fakeConn, reply string, at int) string {
				_, _ = c.Write([]byte(reply[:at]))
				synctest.Wait() // until it was read
				return reply[at:]
			}
			s.reply = func(c *fakeConn, args []string) string {
				switch args[0] {
				case "FIRST":
					return split(c, first, 7)
				case "SECOND":
					return split(c, saysList, 9)
				}
				return "+OK\r\n"
			}
			p := open(t, s.config())
			for range 3 {
				if c := startChecked(t, p, "VOTE")[0].wait(); c.Err != nil || c.Said().Mark != first+saysList {
					t.Errorf("mark %q, %v", c.Said().Mark, c.Err)
				}
			}
		})
	}
}
