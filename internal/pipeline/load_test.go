package pipeline

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// A scriptServer answers joint commands once it has their script.
type scriptServer struct {
	*fakeServer
	has    atomic.Bool
	refuse string // the reply to SCRIPT LOAD; "": it loads
	loses  bool   // it forgets the script at once
}

func newScriptServer(t *testing.T) *scriptServer {
	s := &scriptServer{fakeServer: newFakeServer(t)}
	s.reply = func(_ *fakeConn, args []string) string {
		switch {
		case args[0] == "SCRIPT" && s.refuse != "":
			return s.refuse
		case args[0] == "SCRIPT":
			s.has.Store(!s.loses)
			return bulk(args[2])
		case args[0] == "EVALSHA" && !s.has.Load():
			return "-NOSCRIPT No matching script.\r\n"
		case args[0] == "EVALSHA":
			return "*2\r\n:1\r\n:1\r\n"
		}
		return ":1\r\n"
	}
	return s
}

// twoJoined queues two calls that one flush carries, and reports whether both came back
// as parts of a joint command.
func twoJoined(t *testing.T, p *Pipeline, j *Joint) (joined bool) {
	t.Helper()
	p.mu.Lock() // the writer takes both
	var all []*waiter
	for _, key := range "ab" {
		w := newWaiter(t, "DEL", string(key)).part(j, string(key))
		all = append(all, w)
		p.accepted.Add(1)
		p.queue = append(p.queue, w.call)
	}
	p.work.Signal()
	p.mu.Unlock()
	joined = true
	for _, w := range all {
		c := w.wait()
		if c.Apart {
			if !IsNoScript(c.Err) {
				t.Errorf("apart because of %v", c.Err)
			}
			joined = false
		} else if c.Err != nil {
			t.Error(c.Err)
		}
	}
	synctest.Wait()
	return joined
}

func TestTheScriptOfAJointCommandIsLoadedWhereTheMasterLacksIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScriptServer(t)
		p := connect(t, s.config())
		j := &Joint{SHA: "sha", Source: "return 1", Args: 1, Last: AppendBulk(nil, "me"), Ints: 1}
		if twoJoined(t, p, j) {
			t.Error("the master knew the script before it was loaded")
		}
		for range 2 {
			if !twoJoined(t, p, j) {
				t.Error("the master does not know the script after it was loaded")
			}
		}
		got := fmt.Sprint(s.conn(1).calls())
		if strings.Count(got, "SCRIPT LOAD return 1") != 1 || strings.Count(got, "EVALSHA") != 3 {
			t.Errorf("sent %s", got)
		}
		if st := p.Stats(); p.inFlight() != 0 || st.Failures != 0 {
			t.Errorf("%d in flight, %d failures counted, want none: a script that has to be loaded is no failure", p.inFlight(), st.Failures)
		}
	})
}

func TestNoJointCommandIsMadeWhereTheMasterLoadsNoScript(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScriptServer(t)
		s.refuse = "-NOPERM this user has no permissions\r\n"
		p := connect(t, s.config())
		j := &Joint{SHA: "sha", Source: "return 1", Args: 1, Last: AppendBulk(nil, "me"), Ints: 1}
		for range 3 {
			twoJoined(t, p, j)
		}
		got := fmt.Sprint(s.conn(1).calls())
		if strings.Count(got, "SCRIPT") != 1 || strings.Count(got, "EVALSHA") != 1 || strings.Count(got, "DEL") != 4 {
			t.Errorf("sent %s", got)
		}
	})
}

func TestAMasterThatLosesScriptsAgainAndAgainGetsNoJointCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScriptServer(t)
		s.loses = true
		p := connect(t, s.config())
		j := &Joint{SHA: "sha", Source: "return 1", Args: 1, Last: AppendBulk(nil, "me"), Ints: 1}
		for range mostLoads + 5 {
			twoJoined(t, p, j)
		}
		got := fmt.Sprint(s.conn(1).calls())
		if strings.Count(got, "SCRIPT") != mostLoads || strings.Count(got, "EVALSHA") != mostLoads+1 {
			t.Errorf("sent %d loads and %d joint commands, want %d and %d", strings.Count(got, "SCRIPT"), strings.Count(got, "EVALSHA"), mostLoads, mostLoads+1)
		}
	})
}
