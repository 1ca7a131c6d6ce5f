package pipeline

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// refuse answers one command of the handshake with an error.
func refuse(command, text string) func(*fakeConn, []string) (string, bool) {
	return func(_ *fakeConn, args []string) (string, bool) {
		return "-" + text + "\r\n", command == "" || strings.HasPrefix(join(args), command)
	}
}

func TestARefusalInTheHandshakeIsNamed(t *testing.T) {
	for _, test := range []struct {
		name string
		set  func(*Config)
		// what the server refuses, "" for everything, and how
		command, text string
		want          string
		verdict       string
	}{
		{"a wrong password", func(c *Config) { c.Password = "pw" }, "AUTH",
			"WRONGPASS invalid username-password pair or user is disabled.",
			"AUTH: WRONGPASS invalid username-password pair or user is disabled.", "password refused"},
		{"a wrong password of a user", func(c *Config) { c.Username, c.Password = "me", "pw" }, "AUTH",
			"WRONGPASS invalid username-password pair or user is disabled.",
			"AUTH as me: WRONGPASS invalid username-password pair or user is disabled.", "password refused"},
		{"a password where none is wanted", func(c *Config) { c.Password = "pw" }, "AUTH",
			"ERR AUTH <password> called without any password configured for the default user.",
			"AUTH: ERR AUTH <password> called without any password configured for the default user.", "password refused"},
		{"no password where one is wanted", func(*Config) {}, "",
			"NOAUTH Authentication required.", "handshake: NOAUTH Authentication required.", "password wanted"},
		{"no password and a database", func(c *Config) { c.DB = 3 }, "",
			"NOAUTH Authentication required.", "SELECT 3: NOAUTH Authentication required.", "password wanted"},
		{"a database that is not there", func(c *Config) { c.DB = 99 }, "SELECT",
			"ERR DB index is out of range", "SELECT 99: ERR DB index is out of range", "no session"},
		{"a database without permission", func(c *Config) { c.DB = 1 }, "SELECT",
			"NOPERM this user has no permissions to run the 'select' command",
			"SELECT 1: NOPERM this user has no permissions to run the 'select' command", "no session"},
		{"protected mode", func(*Config) {}, "",
			"DENIED Redis is running in protected mode", "handshake: DENIED Redis is running in protected mode", "no session"},
		{"no room", func(*Config) {}, "",
			"ERR max number of clients reached", "handshake: ERR max number of clients reached", "no session"},
	} {
		inBubble(t, test.name, func(t *testing.T) {
			s := newFakeServer(t)
			s.greet = refuse(test.command, test.text)
			cfg := s.config()
			test.set(&cfg)
			p := open(t, cfg)
			c := do(t, p, "GET", "x")
			var config *ConfigError
			if !errors.As(c.Err, &config) || config.Error() != test.want {
				t.Errorf("error %v, want the ConfigError %q", c.Err, test.want)
			}
			if !errors.Is(c.Err, ErrDown) || c.Sent {
				t.Errorf("error %v, sent %t", c.Err, c.Sent)
			}
			if want := test.verdict + " (the master is up): " + test.want; c.Err.Error() != want {
				t.Errorf("the call fails with %q, want %q", c.Err, want)
			}
			if lasting := test.name != "no room"; IsLasting(c.Err) != lasting {
				t.Errorf("%v: lasting is %t", c.Err, IsLasting(c.Err))
			}
			if got := s.conn(1).client.linger.Load(); got != 0 {
				t.Errorf("the connection was closed with linger %d", got)
			}
			// What is mended is found out.
			s.setGreet(nil)
			waitUp(t, p)
			mustAnswer(t, p, "OK", "GET", "x")
		})
	}
}

// Permissions may miss a command that only a call needs: the master is there,
// and says so at every call.
func TestACommandWithoutPermissionIsAConfigError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t)
		s.reply = func(_ *fakeConn, args []string) string {
			if args[0] == "GET" {
				return "+OK\r\n"
			}
			return "-" + args[1] + "\r\n"
		}
		p := connect(t, s.config())
		for _, text := range []string{
			"NOPERM this user has no permissions to run the 'evalsha' command", "NOPERM this user has no permissions to access one of the keys used as arguments",
			"NOAUTH Authentication required.",
		} {
			c := do(t, p, "EVALSHA", text)
			var config *ConfigError
			if !errors.As(c.Err, &config) || config.What != "EVALSHA" || config.Error() != "EVALSHA: "+text || errors.Is(c.Err, ErrDown) || !c.Sent {
				t.Errorf("error %v, sent %t", c.Err, c.Sent)
			}
		}
		if c := mustAnswer(t, p, "OK", "GET", "x"); c.Epoch != 1 {
			t.Errorf("epoch %d", c.Epoch)
		}
	})
}

// A server that is full or denies does not read: it says so and hangs up. On a
// unix socket the handshake cannot even be written then.
func TestARefusalIsReadThoughTheConnectionIsClosed(t *testing.T) {
	for _, network := range []string{"tcp", "unix"} {
		t.Run(network, func(t *testing.T) {
			s := newFakeServer(t)
			hungUp := make(chan struct{}, 1000)
			s.accept = func(c *fakeConn) bool {
				_, _ = io.WriteString(c, "-ERR max number of clients reached\r\n")
				_ = c.Close()
				hungUp <- struct{}{}
				return false
			}
			cfg := short(s.config())
			cfg.Network, cfg.Addr = network, s.listen(network, nil)
			cfg.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
				conn, err := new(net.Dialer).DialContext(ctx, network, addr)
				if err == nil {
					<-hungUp
				}
				return conn, err
			}
			p := open(t, cfg)
			var config *ConfigError
			if c := do(t, p, "GET", "x"); !errors.As(c.Err, &config) || config.Error() != "handshake: ERR max number of clients reached" {
				t.Errorf("error %v", c.Err)
			}
		})
	}
}

func TestAHandshakeThatBreaksIsALostConnection(t *testing.T) {
	for _, test := range []struct {
		name  string
		greet func(c *fakeConn, args []string) (string, bool)
		want  error
	}{
		{"closed at once", func(c *fakeConn, _ []string) (string, bool) { _ = c.Close(); return "", true }, ErrConnectionLost},
		{"reset at once", func(c *fakeConn, _ []string) (string, bool) { c.reset(); return "", true }, ErrConnectionLost},
		{"closed in mid-reply", func(c *fakeConn, _ []string) (string, bool) {
			_, _ = io.WriteString(c, ":1")
			_ = c.Close()
			return "", true
		}, ErrConnectionLost},
		{"HTTP", func(*fakeConn, []string) (string, bool) { return "HTTP/1.1 400 Bad Request\r\n\r\n", true }, ErrProtocol},
		{"a hostile length", func(*fakeConn, []string) (string, bool) { return "$9223372036854775807\r\n", true }, ErrProtocol},
		{"RESP3", func(*fakeConn, []string) (string, bool) { return "%1\r\n+a\r\n+b\r\n", true }, ErrProtocol},
		{"silence", func(*fakeConn, []string) (string, bool) { return "", true }, ErrTimeout},
		{"a dribble", func(c *fakeConn, _ []string) (string, bool) {
			for {
				if _, err := io.WriteString(c, "$"); err != nil {
					return "", true
				}
				for range 100 {
					time.Sleep(time.Second)
					if _, err := io.WriteString(c, "0"); err != nil {
						return "", true
					}
				}
			}
		}, ErrTimeout},
	} {
		inBubble(t, test.name, func(t *testing.T) {
			s := newFakeServer(t)
			s.greet = test.greet
			p := open(t, s.config())
			begun := time.Now()
			c := do(t, p, "GET", "x")
			if !errors.Is(c.Err, test.want) || !errors.Is(c.Err, ErrDown) {
				t.Errorf("error %v, want %v", c.Err, test.want)
			}
			if took := time.Since(begun); took > 2*time.Second {
				t.Errorf("it took %v, want the dial timeout of 2 s at the most", took)
			}
			var config *ConfigError
			if errors.As(c.Err, &config) {
				t.Errorf("%v is no refusal", c.Err)
			}
		})
	}
}

// A master that the client speaks plainly to answers with an alert.
func TestATLSAlertSaysWhatToDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t)
		s.greet = func(c *fakeConn, _ []string) (string, bool) {
			_, _ = io.WriteString(c, "\x15\x03\x01\x00\x02\x02\x46")
			_ = c.Close()
			return "", true
		}
		p := open(t, s.config())
		var config *ConfigError
		if c := do(t, p, "GET", "x"); !errors.As(c.Err, &config) || !strings.Contains(config.Error(), "rediss://") {
			t.Errorf("error %v", c.Err)
		}
	})
}

// Servers and proxies may repeat in a refusal, or anywhere, what they were
// given.
func TestThePasswordIsNeverShown(t *testing.T) {
	const secret = "s3cr3t@:/#% \"pass'word\\"
	echo := func(prefix string) func(*fakeConn, []string) (string, bool) {
		return func(_ *fakeConn, _ []string) (string, bool) {
			return "-" + prefix + " called with " + secret + " and again " + secret + "\r\n", true
		}
	}
	for _, test := range []struct {
		name  string
		greet func(c *fakeConn, args []string) (string, bool)
	}{
		{"in WRONGPASS", echo("WRONGPASS")},
		{"in ERR", echo("ERR unknown command 'AUTH',")},
		{"alone", func(*fakeConn, []string) (string, bool) { return "-" + secret + "\r\n", true }},
		{"in NOAUTH for another command", func(_ *fakeConn, args []string) (string, bool) {
			return "-NOAUTH " + secret + "\r\n", args[0] != "AUTH"
		}},
		{"in DENIED for another command", func(_ *fakeConn, args []string) (string, bool) {
			return "-DENIED " + secret + "\r\n", args[0] != "AUTH"
		}},
		{"in an optional refusal", func(_ *fakeConn, args []string) (string, bool) {
			return "-NOPERM " + secret + "\r\n", args[0] != "AUTH"
		}},
		{"in LOADING for another command", func(_ *fakeConn, args []string) (string, bool) {
			return "-LOADING " + secret + "\r\n", args[0] != "AUTH"
		}},
		{"as garbage", func(*fakeConn, []string) (string, bool) { return secret + "\r\n", true }},
		{"as a type", func(_ *fakeConn, _ []string) (string, bool) { return "$" + secret + "\r\n", true }},
		{"as the run_id", func(_ *fakeConn, args []string) (string, bool) {
			return bulk("run_id:" + secret + "\r\n"), args[0] == "INFO"
		}},
		{"as the reply of AUTH", func(_ *fakeConn, args []string) (string, bool) {
			return "+" + secret + "\r\n", args[0] == "AUTH"
		}},
		{"before it hangs up", func(c *fakeConn, _ []string) (string, bool) {
			_, _ = io.WriteString(c, "+"+secret)
			_ = c.Close()
			return "", true
		}},
	} {
		for _, callback := range []bool{false, true} {
			inBubble(t, fmt.Sprintf("%s, by callback: %t", test.name, callback), func(t *testing.T) {
				s := newFakeServer(t)
				s.greet = test.greet
				var log bytes.Buffer
				cfg := s.config()
				cfg.Logger = slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
				cfg.ClientName = "redquorum"
				if callback {
					cfg.Credentials = func(context.Context) (string, string, error) { return "me", secret, nil }
				} else {
					cfg.Username, cfg.Password = "me", secret
				}
				p := open(t, cfg)
				var shown strings.Builder
				for range 3 {
					c := do(t, p, "GET", "x")
					_, up := p.Up()
					fmt.Fprintf(&shown, "%v %+v %#v\n%+v\n%v\n", c.Err, c.Err, c.Err, p.Stats(), up)
					time.Sleep(time.Second)
				}
				p.Close()
				shown.WriteString(log.String())
				for _, form := range []string{secret, fmt.Sprintf("%q", secret), "s3cr3t", "pass'word"} {
					if strings.Contains(shown.String(), form) {
						t.Fatalf("%q is in:\n%s", form, shown.String())
					}
				}
				if !strings.Contains(shown.String(), "master-1") {
					t.Errorf("the log does not name the master:\n%s", shown.String())
				}
			})
		}
	}
}

// A vault's client may put into its error what it fetched.
func TestACredentialsErrorDoesNotShowThePassword(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t)
		cfg := s.config()
		cfg.Credentials = func(context.Context) (string, string, error) {
			return "me", "hunter2", errors.New("lease of me/hunter2 has expired")
		}
		p := open(t, cfg)
		c := do(t, p, "GET", "x")
		var config *ConfigError
		if !errors.As(c.Err, &config) || strings.Contains(c.Err.Error(), "hunter2") || !strings.Contains(c.Err.Error(), "has expired") {
			t.Errorf("error %v", c.Err)
		}
		if n := len(s.conn(1).seen()); n != 0 {
			t.Errorf("%d commands were sent without credentials", n)
		}
	})
}
