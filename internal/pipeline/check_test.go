package pipeline

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
)

// testCheck asks by a script that fake servers know.
const checkText, checkSHA = "return 'the check'", "0123456789012345678901234567890123456789"

var testCheck = NewCheck(checkText, checkSHA, 1, "marker")

// isCheck reports whether a command is the check, by its digest or by its text.
func isCheck(args []string) bool {
	return len(args) > 1 && (args[1] == checkSHA || args[1] == checkText)
}

// startChecked queues calls that ask for the check, in one flush with others
// before the first connection is up.
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

func TestOneCheckEndsAFlushAndIsToldToAllThatAskedForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t)
		hold := make(chan struct{})
		var mu sync.Mutex
		mark := bulks("r1", "0")
		s.reply = func(_ *fakeConn, args []string) string {
			switch {
			case isCheck(args):
				<-hold
				mu.Lock()
				defer mu.Unlock()
				return mark
			case args[0] == "VOTE-BAD":
				return "-ERR bad\r\n"
			}
			return "+OK\r\n"
		}
		g := newGate(s)
		p := open(t, g.config())
		calls := startChecked(t, p, "VOTE1", "PLAIN", "VOTE-BAD", "VOTE2")
		g.next <- nil
		calls[1].wait()
		synctest.Wait()
		for _, i := range []int{0, 2, 3} {
			if !calls[i].pending() {
				t.Errorf("%s is complete before the check", calls[i].call.Cmd)
			}
		}
		hold <- struct{}{}
		for i, w := range calls {
			c := w.wait()
			if want := i != 1; want && c.Said().Mark != Mark("r1", "0") || !want && c.Said().Mark != "" || c.Said().Err != nil {
				t.Errorf("%s: mark %q, %v", c.Cmd, c.Said().Mark, c.Said().Err)
			}
			if (c.Err != nil) != (c.Cmd == "VOTE-BAD") {
				t.Errorf("%s: error %v", c.Cmd, c.Err)
			}
		}
		if got := strings.Count(fmt.Sprint(s.conn(1).calls()), "EVALSHA"); got != 1 {
			t.Errorf("%d checks in one flush", got)
		}
		close(hold)

		for _, test := range []struct{ reply, mark string }{
			{bulks("r1", "0"), Mark("r1", "0")},
			{bulks("r1", "7"), Mark("r1", "7")},
			{"*2\r\n$-1\r\n$-1\r\n", "*2\r\n$-1\r\n$-1\r\n"},
			{bulks("r1", "7"), Mark("r1", "7")},
			{"-WRONGTYPE it is a string\r\n", ""},
			{"+OK\r\n", ""},
			{"*2\r\n:1\r\n$1\r\n7\r\n", ""},
			{"$-1\r\n", ""},
			{bulks("r1", "7"), Mark("r1", "7")},
		} {
			mu.Lock()
			mark = test.reply
			mu.Unlock()
			c := startChecked(t, p, "VOTE")[0].wait()
			if c.Err != nil || c.Said().Mark != test.mark || (c.Said().Err != nil) != strings.HasPrefix(test.reply, "-") {
				t.Errorf("the check says %q: mark %q, %v; error %v", test.reply, c.Said().Mark, c.Said().Err, c.Err)
			}
		}
		synctest.Wait()
		if n := p.inFlight(); n != 0 {
			t.Errorf("%d calls in flight", n)
		}
	})
}

func bulks(values ...string) string { return Mark(values...) }

// What was answered counts for nothing when the check was not.
func TestACallWhoseCheckIsLostFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t)
		s.reply = func(c *fakeConn, args []string) string {
			if isCheck(args) {
				_ = c.Close()
			}
			return "+OK\r\n"
		}
		g := newGate(s)
		p := open(t, g.config())
		calls := startChecked(t, p, "VOTE", "PLAIN")
		g.next <- nil
		if c := calls[1].wait(); c.Err != nil {
			t.Errorf("the plain call: %v", c.Err)
		}
		if c := calls[0].wait(); !errors.Is(c.Err, ErrConnectionLost) || c.Reply != nil || c.Said().Mark != "" || !c.Sent {
			t.Errorf("the vote: %v, reply %v, mark %q", c.Err, c.Reply, c.Said().Mark)
		}
		synctest.Wait()
		if n := p.inFlight(); n != 0 {
			t.Errorf("%d calls in flight", n)
		}
	})
}

func TestASplitReplyOfACheckIsReadWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t)
		s.reply = func(c *fakeConn, args []string) string {
			if !isCheck(args) {
				return "+OK\r\n"
			}
			raw := bulks("r1", "12345")
			_, _ = c.Write([]byte(raw[:9]))
			synctest.Wait() // until it was read
			return raw[9:]
		}
		p := open(t, s.config())
		for range 3 {
			if c := startChecked(t, p, "VOTE")[0].wait(); c.Err != nil || c.Said().Mark != Mark("r1", "12345") {
				t.Errorf("mark %q, %v", c.Said().Mark, c.Err)
			}
		}
	})
}

// A master that has forgotten its scripts is asked by the text, and no vote waits
// for longer, or is answered without a check.
func TestACheckThatTheMasterDoesNotKnowIsAskedByItsText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t)
		var mu sync.Mutex
		known, asked := false, []string{}
		s.reply = func(_ *fakeConn, args []string) string {
			mu.Lock()
			defer mu.Unlock()
			asked = append(asked, args[0])
			switch {
			case args[0] == "EVAL":
				known = true
			case args[0] == "EVALSHA" && !known:
				return "-NOSCRIPT No matching script.\r\n"
			case args[0] == "VOTE-BAD":
				return "-ERR bad\r\n"
			}
			if isCheck(args) {
				return bulks("r1", "0")
			}
			return "+OK\r\n"
		}
		g := newGate(s)
		p := open(t, g.config())
		calls := startChecked(t, p, "VOTE1", "VOTE-BAD", "VOTE2")
		g.next <- nil
		for _, w := range calls {
			if c := w.wait(); c.Err == nil && c.Said().Mark != bulks("r1", "0") || (c.Err != nil) != (c.Cmd == "VOTE-BAD") {
				t.Errorf("%s: mark %q, %v", c.Cmd, c.Said().Mark, c.Err)
			}
		}
		synctest.Wait()
		mu.Lock()
		known, asked = false, nil // forgotten again
		mu.Unlock()
		for range 2 {
			if c := startChecked(t, p, "VOTE")[0].wait(); c.Err != nil || c.Said().Mark != bulks("r1", "0") {
				t.Errorf("mark %q, %v", c.Said().Mark, c.Err)
			}
		}
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		if got, want := strings.Join(asked, " "), "VOTE EVALSHA EVAL VOTE EVALSHA"; got != want {
			t.Errorf("it was asked %s, want %s", got, want)
		}
		if n := p.inFlight(); n != 0 {
			t.Errorf("%d calls in flight", n)
		}
	})
}

// Where no further check can be had the votes come back without one, and count
// for nothing.
func TestVotesComeBackUncheckedWhereNoFurtherCheckCanBeHad(t *testing.T) {
	for name, limit := range map[string]int{"the queue is full": 1, "the master does not know the text either": 100} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newFakeServer(t)
				s.reply = func(_ *fakeConn, args []string) string {
					if isCheck(args) {
						return "-NOSCRIPT No matching script.\r\n"
					}
					return "+OK\r\n"
				}
				cfg := s.config()
				cfg.QueueLimit = limit
				p := open(t, cfg)
				if c := startChecked(t, p, "VOTE")[0].wait(); c.Err != nil || c.Said().Mark != "" || !IsNoScript(c.Said().Err) {
					t.Errorf("mark %q, check %v, error %v", c.Said().Mark, c.Said().Err, c.Err)
				}
			})
		})
	}
}
