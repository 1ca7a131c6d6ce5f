package redlock_test

import (
	"strings"
	"testing"
	"time"

	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

// A probe finds that out, within 5 s.
func TestAMasterThatTakesNoWriteKeepsItsVoteAndIsSaidToGrantNothing(t *testing.T) {
	for name, test := range map[string]struct {
		refusal func(cmd string) string
		grants  bool
	}{
		"full":                {only("OOM command not allowed when used memory > 'maxmemory'.", "SET"), false},
		"it cannot save":      {only("MISCONF Redis is configured to save RDB snapshots", "SET"), false},
		"too few replicas":    {only("NOREPLICAS Not enough good replicas to write.", "SET"), false},
		"busy":                {only("BUSY Redis is busy running a script.", "SET", "EVAL", "EVALSHA", "INFO", "HMGET"), false},
		"another user may":    {only("NOPERM this user has no permissions to access one of the keys", "SET"), true},
		"nothing is the case": {only(""), true},
	} {
		t.Run(name, func(t *testing.T) {
			inSim(t, 3, func(t *testing.T, s *sim) {
				c := s.guarded()
				if err := c.Ready(t.Context()); err != nil {
					t.Fatal(err)
				}
				grants := func(want bool) {
					t.Helper()
					time.Sleep(6 * time.Second)
					for i, r := range c.Masters() {
						if !r.Votes || r.Grants != (want || i == 2) {
							t.Errorf("%+v, want a vote that grants: %v", r, want || i == 2)
						}
					}
				}
				grants(true)
				s.All[0].Refuse(test.refusal)
				s.All[1].Refuse(test.refusal)
				grants(test.grants)
				s.All[0].Refuse(only(""))
				s.All[1].Refuse(only(""))
				grants(true)
			})
		})
	}
}

func only(text string, commands ...string) func(string) string {
	return func(cmd string) string {
		for _, c := range commands {
			if c == cmd {
				return text
			}
		}
		return ""
	}
}

// The master's clients are paused, or it stands still. It has half a second to answer.
func TestAMasterThatDoesNotAnswerInTimeIsSaidToGrantNothing(t *testing.T) {
	inSim(t, 3, func(t *testing.T, s *sim) {
		c := s.guarded()
		if err := c.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.Freeze(0)
		asked := false
		for range 60 { // until it is asked, and then until the connection is given up
			time.Sleep(100 * time.Millisecond)
			r := c.Masters()[0]
			if r.Votes && !r.Grants {
				asked = true
			}
		}
		if !asked {
			t.Error("it votes, and grants, until its connection is given up")
		}
		s.Thaw(0)
		time.Sleep(2 * time.Second)
		if r := c.Masters()[0]; !r.Votes || !r.Grants {
			t.Errorf("it answers again: %+v", r)
		}
	})
}

const noAccess = "NOPERM this user has no permissions to access one of the keys used as arguments"

// refusals keep a user from releasing what it sets; the keys say why. Without INFO no marker is
// read.
var refusals = map[string]func(cmd string) string{
	"it refuses EVAL":           only("NOPERM this user has no permissions to run the 'eval' command or its subcommand", "EVAL", "EVALSHA"),
	"its marker cannot be read": only(noAccess, "HMGET"),
	"it refuses GET":            only(noAccess, "GET", "INFO"),
}

// A user that may not run scripts, or may not read the marker, cannot release a key. The key would
// then keep everybody out for its TTL.
func TestNothingIsSetForAUserWhoCannotReleaseIt(t *testing.T) {
	for want, refused := range refusals {
		inSim(t, 3, func(t *testing.T, s *sim) {
			for _, m := range s.All {
				m.Refuse(refused)
			}
			c := s.openAt(s.URLs())
			for range 3 {
				_, err := c.TryLock(t.Context(), "key")
				if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "still being checked") {
					t.Errorf("%v, want that %s", err, want)
				}
				time.Sleep(time.Second)
			}
			for i, m := range s.All {
				if n := m.Commands()["SET"]; n != 0 {
					t.Errorf("%s: %d locks were set on master %d", want, n, i)
				}
			}
		})
	}
}

// Each connection is judged anew. Until then the judgment of the one before it counts.
func TestNothingIsSetOnTheNextConnectionToAMasterThatRefuses(t *testing.T) {
	for why, refused := range refusals {
		for _, n := range []int{1, 3} { // how many refuse
			inSim(t, 3, func(t *testing.T, s *sim) {
				_ = s.openReady().Close()
				for _, m := range s.All[:n] {
					m.Refuse(refused)
				}
				link := &slowLink{s: s, addr: s.All[0].Addr(), late: 60 * time.Millisecond}
				c := s.openAt(s.URLs(), redlock.WithPool(pool.WithDialer(link.dial)))
				time.Sleep(time.Second)
				link.cut(10 * time.Millisecond)
				for range 100 {
					if l, err := c.TryLock(t.Context(), "key"); err == nil {
						unlock(t, l)
					}
					time.Sleep(10 * time.Millisecond)
				}
				if n := s.All[0].Commands()["SET"]; n != 0 {
					t.Errorf("%s: %d locks were set on it", why, n)
				}
			})
		}
	}
}

// If one master refuses that, another that answers the guard slowly is likely to refuse it too.
func TestNothingIsSetOnAMasterBeforeItHasAnsweredTheGuardWhereAnotherRefuses(t *testing.T) {
	for why, refused := range refusals {
		inSim(t, 5, func(t *testing.T, s *sim) {
			_ = s.openReady().Close()
			for _, m := range s.All[2:4] {
				m.Refuse(refused)
			}
			s.Freeze(2)
			c := s.openAt(s.URLs())
			l := mustLock(t, c, "key")
			s.Thaw(2)
			time.Sleep(5 * time.Second)
			unlock(t, l)
			if n := s.All[2].Commands()["SET"]; n != 0 {
				t.Errorf("%s: %d locks were set on it", why, n)
			}
		})
	}
}
