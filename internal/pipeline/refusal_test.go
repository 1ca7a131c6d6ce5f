package pipeline

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/internal/deliver"
)

// mustBeRefused fails unless a call fails with a ConfigError of this What that contains text.
func mustBeRefused(t *testing.T, p *Pipeline, what, text string) *Call {
	t.Helper()
	c := do(t, p, "GET", "x")
	config, ok := errors.AsType[*ConfigError](c.Err)
	if !ok || config.What != what || !strings.Contains(config.Err.Error(), text) {
		t.Errorf("error %v, want a ConfigError: %s: %s", c.Err, what, text)
	}
	return c
}

// mustBeRefusedWith is mustBeRefused for the whole text.
func mustBeRefusedWith(t *testing.T, p *Pipeline, what, text string) {
	t.Helper()
	c := mustBeRefused(t, p, what, text)
	if config, ok := errors.AsType[*ConfigError](c.Err); ok && config.Error() != what+": "+text {
		t.Errorf("error %q, want %q", config, what+": "+text)
	}
}

// refuse answers one command of the handshake with an error.
func refuse(command, text string) func(*fakeConn, []string) (string, bool) {
	return func(_ *fakeConn, args []string) (string, bool) {
		return "-" + text + "\r\n", command == "" || strings.HasPrefix(join(args), command)
	}
}

func TestARefusalInTheHandshakeIsNamed(t *testing.T) {
	const wrong = "WRONGPASS invalid username-password pair or user is disabled."
	const needless = "ERR AUTH <password> called without any password configured for the default user."
	const missing = "NOAUTH Authentication required."
	const forbidden = "NOPERM this user has no permissions to run the 'select' command"
	for _, test := range []struct {
		name string
		set  func(*Config)
		// what the server refuses, "" for everything, and how
		command, text string
		what, verdict string
	}{
		{"a wrong password of a user", func(c *Config) { c.Username, c.Password = "me", "pw" }, "AUTH", wrong, "AUTH as me", "password refused"},
		{"a password where none is wanted", func(c *Config) { c.Password = "pw" }, "AUTH", needless, "AUTH", "password refused"},
		{"no password where one is wanted", func(*Config) {}, "", missing, "handshake", "password wanted"},
		{"a database that is not there", func(c *Config) { c.DB = 99 }, "SELECT", "ERR DB index is out of range", "SELECT 99", "no session"},
		{"a database without permission", func(c *Config) { c.DB = 1 }, "SELECT", forbidden, "SELECT 1", "not permitted"},
		{"protected mode", func(*Config) {}, "", "DENIED Redis is running in protected mode", "handshake", "no session"},
		{"no room", func(*Config) {}, "", "ERR max number of clients reached", "handshake", "no session"},
	} {
		inBubble(t, test.name, func(t *testing.T) {
			s := newFakeServer(t)
			s.greet = refuse(test.command, test.text)
			cfg := s.config()
			test.set(&cfg)
			p := open(t, cfg)
			c := mustBeRefused(t, p, test.what, test.text)
			if !errors.Is(c.Err, ErrDown) || c.Sent {
				t.Errorf("error %v, sent %t", c.Err, c.Sent)
			}
			want := test.verdict + " (the master is up): " + test.what + ": " + test.text
			if strings.Contains(test.verdict, "password") {
				want = strings.TrimSuffix(want, ".") + "; mend its credentials"
			}
			if c.Err.Error() != want {
				t.Errorf("the call fails with %q, want %q", c.Err, want)
			}
			if lasting := test.name != "no room"; IsLasting(c.Err) != lasting {
				t.Errorf("%v: lasting is %t", c.Err, IsLasting(c.Err))
			}
			if got := s.conn(1).client.linger.Load(); got != 0 {
				t.Errorf("the connection was closed with linger %d", got)
			}
			// The pipeline notices when the cause is gone.
			s.setGreet(nil)
			waitUp(t, p)
			mustAnswer(t, p, "OK", "GET", "x")
		})
	}
}

// An error reply is an answer like any other, and the connection stays. The user may lack the
// permission for a command of which the handshake has none: every such call says so.
func TestAnErrorReplyIsAnAnswerAndAMissingPermissionAConfigError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t)
		s.reply = func(_ *fakeConn, args []string) string {
			if args[0] == "GET" {
				return "+OK\r\n"
			}
			return "-" + args[1] + "\r\n"
		}
		p := connect(t, s.config())
		for text, want := range map[string]bool{
			"NOPERM this user has no permissions to run the 'evalsha' command": true,
			"NOAUTH Authentication required.":                                  true,
			"LOADING Redis is loading the dataset in memory":                   false,
			"READONLY You can't write against a read only replica.":            false,
			"": false,
		} {
			c := do(t, p, "EVALSHA", text)
			config, ok := errors.AsType[*ConfigError](c.Err)
			if ok != want || ok && (config.What != "EVALSHA" || config.Error() != "EVALSHA: "+text) || !ok && c.Err != error(redis.Error(text)) { //nolint:errorlint // the bare value
				t.Errorf("error %v, want of %q", c.Err, text)
			}
			if errors.Is(c.Err, ErrDown) || !c.Sent {
				t.Errorf("error %v, sent %t", c.Err, c.Sent)
			}
		}
		if c := mustAnswer(t, p, "OK", "GET", "x"); c.Epoch != 1 {
			t.Errorf("epoch %d", c.Epoch)
		}
	})
}

// A server that is full, or denies access, sends an error and closes without reading. On a unix
// socket the handshake cannot even be written then.
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
			mustBeRefusedWith(t, open(t, cfg), "handshake", "ERR max number of clients reached")
		})
	}
}

// A master that is just starting, or stopping, breaks a handshake too, after it has read the first
// bytes.
func TestAHandshakeThatBreaksIsNoRefusal(t *testing.T) {
	says := func(what string) func(*fakeConn) {
		return func(c *fakeConn) { _, _ = io.WriteString(c, what) }
	}
	and := func(first, then func(*fakeConn)) func(*fakeConn) {
		return func(c *fakeConn) { first(c); then(c) }
	}
	hangUp := func(c *fakeConn) { _ = c.Close() }
	dribble := func(c *fakeConn) {
		for _, err := io.WriteString(c, "$"); err == nil; time.Sleep(time.Second) {
			_, err = io.WriteString(c, "0")
		}
	}
	for _, test := range []struct {
		name string
		tls  bool
		do   func(c *fakeConn)
		want error
		hint string // in the error: what to do if only one side uses TLS
	}{
		{"frozen", false, func(*fakeConn) {}, ErrTimeout, ""},
		{"closed", false, hangUp, ErrConnectionLost, " rediss://"},
		{"closed in mid-reply", false, and(says(":1"), hangUp), ErrConnectionLost, ""},
		{"HTTP", false, says("HTTP/1.1 400 Bad Request\r\n\r\n"), ErrProtocol, ""},
		{"a dribble", false, and(says(":1\r\n"), dribble), ErrTimeout, ""},
		{"TLS and frozen", true, func(*fakeConn) {}, ErrTimeout, " redis://"},
		{"TLS and closed", true, hangUp, ErrConnectionLost, ""},
		{"TLS and closed in mid-record", true, and(says("\x16\x03\x03\x01\x00abc"), hangUp), ErrConnectionLost, ""},
	} {
		inBubble(t, test.name, func(t *testing.T) {
			s := newFakeServer(t)
			s.accept = func(c *fakeConn) bool {
				_, _ = c.Read(make([]byte, 64<<10))
				test.do(c)
				return false
			}
			cfg := s.config()
			cfg.DialTimeout = 3 * time.Second
			if test.tls {
				cfg.TLS = &tls.Config{} //nolint:gosec // nobody answers
			}
			p := open(t, cfg)
			begun := time.Now()
			c := do(t, p, "GET", "x")
			if !errors.Is(c.Err, test.want) || !errors.Is(c.Err, ErrDown) || errors.As(c.Err, new(*ConfigError)) {
				t.Errorf("error %v, want %v and no ConfigError", c.Err, test.want)
			}
			mustNotMatchAContext(t, c.Err)
			if took := time.Since(begun); took > cfg.DialTimeout || test.want == ErrTimeout && took != cfg.DialTimeout { //nolint:errorlint // the very same
				t.Errorf("it took %v, and the dial timeout is %v", took, cfg.DialTimeout)
			}
			if text := c.Err.Error(); strings.Contains(text, "TLS") != (test.hint != "") || !strings.Contains(text, test.hint) {
				t.Errorf("error %v, want the hint %q", c.Err, test.hint)
			}
		})
	}
}

// Servers and proxies may repeat the password, in a refusal or anywhere else.
func TestThePasswordIsNeverShown(t *testing.T) {
	const secret = "s3cr3t@:/#% \"pass'word\\"
	const all, others = "", "not AUTH"
	for _, test := range []struct{ name, to, reply string }{
		{"in WRONGPASS", all, "-WRONGPASS called with " + secret + " and again " + secret + "\r\n"},
		{"in NOAUTH for another command", others, "-NOAUTH " + secret + "\r\n"},
		{"in an optional refusal", others, "-NOPERM " + secret + "\r\n"},
		{"in LOADING for another command", others, "-LOADING " + secret + "\r\n"},
		{"as garbage", all, secret + "\r\n"},
		{"as a type", all, "$" + secret + "\r\n"},
		{"as the run_id", "INFO", bulk("run_id:" + secret + "\r\n")},
		{"as the reply of AUTH", "AUTH", "+" + secret + "\r\n"},
		{"before it hangs up", all, "+" + secret},
	} {
		for _, callback := range []bool{false, true} {
			inBubble(t, fmt.Sprintf("%s, by callback: %t", test.name, callback), func(t *testing.T) {
				s := newFakeServer(t)
				s.greet = func(c *fakeConn, args []string) (string, bool) {
					if !strings.HasSuffix(test.reply, "\n") {
						_, _ = io.WriteString(c, test.reply)
						_ = c.Close()
					}
					return test.reply, test.to == all || test.to == args[0] || test.to == others && args[0] != "AUTH"
				}
				var log bytes.Buffer
				cfg := s.config()
				cfg.Deliverer = deliver.New(slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
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
				synctest.Wait()
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

// The credentials callback may put the password into its error.
func TestACredentialsErrorDoesNotShowThePassword(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t)
		cfg := s.config()
		cfg.Credentials = func(context.Context) (string, string, error) {
			return "me", "hunter2", errors.New("lease of me/hunter2 has expired")
		}
		c := mustBeRefused(t, open(t, cfg), "credentials", "has expired")
		if strings.Contains(c.Err.Error(), "hunter2") {
			t.Errorf("error %v", c.Err)
		}
		if n := len(s.conn(1).seen()); n != 0 {
			t.Errorf("%d commands were sent without credentials", n)
		}
	})
}

// A master that has answered over this URL fits its scheme, even if a later connection just closes.
func TestAMasterThatHasServedIsNotToldToSpeakTLS(t *testing.T) {
	for served, wants := range map[int]bool{0: true, 1: false} {
		inBubble(t, fmt.Sprint(served), func(t *testing.T) {
			s := newFakeServer(t)
			var conns atomic.Int32
			s.accept = func(c *fakeConn) bool {
				refused := int(conns.Add(1)) > served
				if refused {
					_ = c.Close()
				}
				return !refused
			}
			p := open(t, s.config())
			time.Sleep(time.Second)
			if served > 0 {
				_ = s.conn(1).Close()
			}
			time.Sleep(time.Second)
			if err := p.Stats().Err; err == nil || strings.Contains(err.Error(), "use a rediss:// URL") != wants {
				t.Errorf("%d served: %v", served, err)
			}
		})
	}
}
