package pipeline

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func join(args []string) string { return strings.Join(args, " ") }

func joined(commands [][]string) []string {
	var all []string
	for _, args := range commands {
		all = append(all, join(args))
	}
	return all
}

func TestTheHandshakeIsSentInOneFlush(t *testing.T) {
	for _, test := range []struct {
		name string
		set  func(*Config)
		want []string
	}{
		{"nothing configured", func(*Config) {}, []string{"CLIENT ID", "INFO server", "PING"}},
		{"a password", func(c *Config) { c.Password = "pw" }, []string{"AUTH pw", "CLIENT ID", "INFO server", "PING"}},
		{"a user alone", func(c *Config) { c.Username = "me" }, []string{"CLIENT ID", "INFO server", "PING"}},
		{"everything", func(c *Config) {
			c.Username, c.Password, c.DB, c.ClientName = "me", "pw", 7, "redquorum"
			c.Scripts = []Script{{"exists-1", "return 1"}, {"exists-2", "return 2"}}
		}, []string{"AUTH me pw", "SELECT 7", "CLIENT ID", "INFO server", "CLIENT SETNAME redquorum", "SCRIPT EXISTS exists-1 exists-2", "PING"}},
	} {
		inBubble(t, test.name, func(t *testing.T) {
			s := newFakeServer(t)
			// The server answers nothing until it has all commands. A client that waited for an
			// answer in between would wait for ever.
			s.greet = func(c *fakeConn, args []string) (string, bool) {
				if len(c.seen()) < len(test.want) {
					return "", true
				}
				for _, args := range c.seen() {
					if _, err := io.WriteString(c, c.greeting(args)); err != nil {
						t.Error(err)
					}
				}
				return "", true
			}
			cfg := s.config()
			test.set(&cfg)
			p := connect(t, cfg)
			if got := joined(s.conn(1).seen()); !slices.Equal(got, test.want) {
				t.Errorf("sent: %q, want %q", got, test.want)
			}
			if n := s.conn(1).client.writes.Load(); n != 1 {
				t.Errorf("%d writes, want 1", n)
			}
			if got := p.Stats(); got.RunID != testRunID || got.Epoch != 1 || !got.Connected {
				t.Errorf("stats: %+v", got)
			}
		})
	}
}

// Until CLIENT KILL is answered, the master may still execute commands of the old connection.
func TestNothingIsServedBeforeTheOldConnectionIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t)
		killed := make(chan struct{})
		s.greet = func(c *fakeConn, args []string) (string, bool) {
			if c.number == 2 || c.number == 3 { // the connection before them is still the first one
				_ = c.Close()
				return "", true
			}
			if strings.HasPrefix(join(args), "CLIENT KILL ") {
				<-killed
			}
			return "", false
		}
		p := connect(t, s.config())
		mustAnswer(t, p, "OK", "GET", "x")
		_ = s.conn(1).Close()
		synctest.Wait()
		waiting := startKept(t, p, time.Hour, "SET", "y")
		time.Sleep(time.Second)
		if ok, _ := p.Up(); ok || len(s.conn(4).calls()) != 0 {
			t.Errorf("up %t, calls %v before the old connection was killed", ok, s.conn(4).calls())
		}
		close(killed)
		mustSucceed(t, 2, waiting)
		want := []string{"CLIENT ID", "INFO server", "PING", "CLIENT KILL ID 1", "SET y"}
		if got := joined(s.conn(4).seen()); !slices.Equal(got, want) {
			t.Errorf("sent: %q, want %q", got, want)
		}
	})
}

// In these cases the old number may belong to another client's connection, or to none.
func TestAnUncertainClientIDIsNotKilled(t *testing.T) {
	const refused = "-NOPERM this user has no permissions to run the command\r\n"
	always := func(reply string) func(int) string { return func(int) string { return reply } }
	for _, test := range []struct {
		name, command string
		reply         func(connection int) string // "": the usual one
	}{
		{"another process serves the address", "INFO server", func(n int) string { return bulk(fmt.Sprintf("run_id:%040d\r\n", n)) }},
		{"the master does not tell its run_id", "INFO server", always(bulk("redis_version:7.0.0\r\n"))},
		{"INFO is refused", "INFO server", always(refused)},
		{"CLIENT ID is refused", "CLIENT ID", always(refused)},
		{"CLIENT ID was refused the first time", "CLIENT ID", func(n int) string { return map[int]string{1: refused}[n] }},
		{"CLIENT ID is the same again", "CLIENT ID", always(":5\r\n")},
		{"CLIENT ID is lower than before", "CLIENT ID", func(n int) string { return fmt.Sprintf(":%d\r\n", 9-n) }},
	} {
		inBubble(t, test.name, func(t *testing.T) {
			s := newFakeServer(t)
			s.greet = func(c *fakeConn, args []string) (string, bool) {
				reply := test.reply(c.number)
				return reply, reply != "" && join(args) == test.command
			}
			p := connect(t, s.config())
			mustAnswer(t, p, "OK", "GET", "x")
			_ = s.conn(1).Close()
			synctest.Wait()
			mustAnswer(t, p, "OK", "GET", "x")
			if got := joined(s.conn(2).seen()); slices.ContainsFunc(got, func(c string) bool { return strings.HasPrefix(c, "CLIENT KILL") }) {
				t.Errorf("sent: %q", got)
			}
		})
	}
}

// A master that loads its data executes nothing yet. Calls that were kept for it would be answered
// with LOADING, and lost.
func TestAMasterThatIsLoadingIsNotServedUntilItHasLoaded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const loading = "LOADING Redis is loading the dataset in memory"
		s := newFakeServer(t)
		s.greet = func(c *fakeConn, args []string) (string, bool) {
			return "-" + loading + "\r\n", args[0] == "PING" && c.number < 4
		}
		p := open(t, s.config())
		c := do(t, p, "SET", "x")
		if !errors.Is(c.Err, ErrDown) || !strings.Contains(c.Err.Error(), loading) || c.Sent {
			t.Errorf("error %v, sent %t", c.Err, c.Sent)
		}
		waitUp(t, p)
		if got := p.Stats(); got.Epoch != 1 {
			t.Errorf("stats: %+v", got)
		}
		mustAnswer(t, p, "OK", "SET", "x")
	})
}

func TestWhatIsOptionalMayBeRefused(t *testing.T) {
	for _, text := range []string{"NOPERM this user has no permissions to run the command", "MISCONF x"} {
		inBubble(t, text, func(t *testing.T) {
			s := newFakeServer(t)
			s.greet = func(_ *fakeConn, args []string) (string, bool) {
				return "-" + text + "\r\n", args[0] != "AUTH" && args[0] != "SELECT"
			}
			cfg := s.config()
			cfg.Password, cfg.DB, cfg.ClientName, cfg.Scripts = "pw", 1, "redquorum", []Script{{"sha1", "return 1"}}
			p := connect(t, cfg)
			for n := range 3 { // the kill of the previous connection is refused, too
				mustAnswer(t, p, "OK", "GET", "x")
				time.Sleep(time.Second) // so that the next dial follows at once
				_ = s.conn(n + 1).Close()
				synctest.Wait()
			}
			if got := p.Stats().RunID; got != "" {
				t.Errorf("run_id %q", got)
			}
		})
	}
}

func TestTheRunIDIsFoundInWhateverINFOLooksLike(t *testing.T) {
	for info, want := range map[string]string{
		"# Server\r\nrun_id:abc\r\nx:y\r\n":       "abc",
		"run_id:abc":                              "abc",
		"executable:/run_id:no\r\nrun_id:yes\r\n": "yes",
		"my_run_id:abc\r\n":                       "",
		"":                                        "",
		"x:" + strings.Repeat("y", 100_000) + "\r\n": "",
	} {
		if got := infoField([]byte(info), "run_id"); got != want {
			t.Errorf("%.60q: %q, want %q", info, got, want)
		}
	}
}

func TestOnlyTheScriptsThatAMasterLacksAreLoaded(t *testing.T) {
	for _, test := range []struct {
		name   string
		refuse string // the error or reply that SCRIPT EXISTS gets instead
		want   []string
	}{
		{"it tells", "", []string{"SCRIPT LOAD return 1", "SCRIPT LOAD return 3"}},
		{"it may not tell", "-NOPERM no\r\n", []string{"SCRIPT LOAD return 1", "SCRIPT LOAD return 2", "SCRIPT LOAD return 3"}},
		{"it tells of too few", "*2\r\n:1\r\n:1\r\n", []string{"SCRIPT LOAD return 1", "SCRIPT LOAD return 2", "SCRIPT LOAD return 3"}},
		{"it has all", "*3\r\n:1\r\n:1\r\n:1\r\n", nil},
	} {
		inBubble(t, test.name, func(t *testing.T) {
			s := newFakeServer(t)
			s.greet = func(_ *fakeConn, args []string) (string, bool) {
				return test.refuse, test.refuse != "" && len(args) > 1 && args[1] == "EXISTS"
			}
			cfg := s.config()
			cfg.Scripts = []Script{{"sha1", "return 1"}, {"exists-2", "return 2"}, {"sha3", "return 3"}}
			p := connect(t, cfg)
			mustAnswer(t, p, "OK", "GET", "x")
			var got []string
			for _, args := range s.conn(1).seen() {
				if len(args) > 1 && args[1] == "LOAD" {
					got = append(got, strings.Join(args, " "))
				}
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("sent %q, want %q", got, test.want)
			}
		})
	}
}

// A handshakeHook sends calls with the first handshake.
type handshakeHook struct {
	*recorder
	calls []*Call
}

func (g *handshakeHook) HandshakeCalls() []*Call {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.events = append(g.events, "greet")
	g.calls = []*Call{newWaiter(g.t, "INFO", "one").call, newWaiter(g.t, "INFO", "two").call}
	return g.calls
}

func TestHandshakeCallsGoOutWithTheFirstHandshakeOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, gate, p := atGate(t)
		s.greet = func(_ *fakeConn, args []string) (string, bool) {
			reply, ok := map[string]string{"INFO one": ":7\r\n", "INFO two": "-NOPERM no\r\n"}[join(args)]
			return reply, ok
		}
		g := &handshakeHook{recorder: &recorder{t: t}}
		p.Watch(g)
		close(gate.next)
		synctest.Wait()
		if got, want := g.all(), "down 0 true, greet, up 1 "+testRunID[:4]; got != want {
			t.Errorf("told %q, want %q", got, want)
		}
		one, two := g.calls[0], g.calls[1]
		if one.Reply != any(int64(7)) || one.Err != nil || one.Epoch != 1 || !one.Sent {
			t.Errorf("the first was answered with %v, %v on connection %d", one.Reply, one.Err, one.Epoch)
		}
		if _, config := errors.AsType[*ConfigError](two.Err); !config {
			t.Errorf("the second was answered with %v", two.Err)
		}
		got := fmt.Sprint(s.conn(1).seen())
		if !strings.HasSuffix(got, "[INFO one] [INFO two] [PING]]") {
			t.Errorf("sent %s", got)
		}
		mustAnswer(t, p, "OK", "GET", "x")
		_ = s.conn(1).Close()
		synctest.Wait()
		mustAnswer(t, p, "OK", "GET", "x")
		if got := fmt.Sprint(s.conn(2).seen()); strings.Contains(got, "one") || strings.Count(g.all(), "greet") != 1 {
			t.Errorf("the second connection was greeted: %s", got)
		}
	})
}
