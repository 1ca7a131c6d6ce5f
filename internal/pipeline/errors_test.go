package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"
)

func mustNotMatchAContext(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		t.Error("no error")
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		t.Errorf("%v matches a context's error", err)
	}
}

func TestNoErrorMatchesAContexts(t *testing.T) {
	// The error of package net for a dial that took too long.
	_, timeout := (&net.Dialer{Deadline: time.Now().Add(-time.Second)}).Dial("tcp", "127.0.0.1:1")
	for _, cause := range []error{timeout, context.Canceled, fmt.Errorf("dial: %w", context.DeadlineExceeded)} {
		broken := func(read, write error) func(*fakeServer) (net.Conn, error) {
			return func(s *fakeServer) (net.Conn, error) {
				client, _ := memPipe(s.window)
				return newFailing(client, read, write), nil
			}
		}
		for where, dial := range map[string]func(*fakeServer) (net.Conn, error){
			"the credentials callback returns it": nil,
			"the dialer returns it":               func(*fakeServer) (net.Conn, error) { return nil, cause },
			"reading fails with it":               broken(cause, nil),
			"writing fails with it":               broken(nil, cause),
		} {
			inBubble(t, fmt.Sprint(where, ": ", cause), func(t *testing.T) {
				s := newFakeServer(t)
				cfg := s.config()
				if dial == nil {
					cfg.Credentials = func(context.Context) (string, string, error) { return "", "", cause }
				} else {
					cfg.Dialer = func(context.Context, string, string) (net.Conn, error) { return dial(s) }
				}
				p := open(t, cfg)
				c := do(t, p, "GET", "x")
				if !errors.Is(c.Err, ErrDown) || !errors.Is(c.Err, ErrTimeout) {
					t.Errorf("error %v, want ErrDown and ErrTimeout", c.Err)
				}
				mustNotMatchAContext(t, c.Err)
				mustNotMatchAContext(t, p.Stats().Err)
				kept := startKept(t, p, time.Minute, "K1")
				p.Close()
				mustNotMatchAContext(t, kept.call.Err)
			})
		}
		inBubble(t, fmt.Sprint("a connection that serves fails with it: ", cause), func(t *testing.T) {
			s := newFakeServer(t)
			cfg := s.config()
			var conn *failing
			cfg.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
				raw, err := s.dial(ctx, network, addr)
				conn = newFailing(raw, nil, nil)
				return conn, err
			}
			p := connect(t, cfg)
			mustAnswer(t, p, "OK", "GET", "x")
			conn.write <- cause
			c := do(t, p, "GET", "x")
			mustNotMatchAContext(t, c.Err)
			if !errors.Is(c.Err, ErrConnectionLost) {
				t.Errorf("error %v, want ErrConnectionLost", c.Err)
			}
		})
	}
}

// failing fails its first write with the error in write, and each read with read, if it is set.
type failing struct {
	net.Conn
	read  error
	write chan error
}

func newFailing(conn net.Conn, read, write error) *failing {
	c := &failing{Conn: conn, read: read, write: make(chan error, 1)}
	if write != nil {
		c.write <- write
	}
	return c
}

func (c *failing) Read(p []byte) (int, error) {
	if c.read != nil {
		return 0, c.read
	}
	return c.Conn.Read(p)
}

func (c *failing) Write(p []byte) (int, error) {
	select {
	case err := <-c.write:
		return 0, err
	default:
		return c.Conn.Write(p)
	}
}

func TestTheEndOfAConnectionBecomesAnErrorOfThisPackage(t *testing.T) {
	for _, test := range []struct {
		err  error
		is   error
		text string
	}{
		{io.EOF, ErrConnectionLost, "connection lost: closed by the master"},
		{syscall.ECONNRESET, ErrConnectionLost, "connection lost: connection reset by peer"},
		{context.DeadlineExceeded, ErrConnectionLost, "connection lost: no answer in time (context deadline exceeded)"},
		{ErrStalled, ErrStalled, "master stopped answering"},
		{ErrClosed, ErrClosed, "pool is closed"},
		{protocolError("x %d", 1), ErrProtocol, "reply breaks the Redis protocol: x 1"},
		{errors.New("redigo: unexpected response line"), ErrProtocol, "reply breaks the Redis protocol: unexpected response line"},
	} {
		got := connectionError(test.err)
		if !errors.Is(got, test.is) || got.Error() != test.text {
			t.Errorf("%v: %q, want %q", test.err, got, test.text)
		}
		mustNotMatchAContext(t, got)
	}
	if err := connectionError(syscall.ECONNRESET); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("%v does not match its cause", err)
	}
}

func TestOnlyAnErrorReplyIsNOSCRIPT(t *testing.T) {
	for err, want := range map[error]bool{
		redis.Error("NOSCRIPT No matching script. Please use EVAL."):                                            true,
		redis.Error("NOPERM this user has no permissions to run the 'evalsha' command"):                         true,
		redis.Error("ERR unknown command 'EVALSHA', with args beginning with: 'f00' "):                          true,
		refusedWith("EVALSHA", redis.Error("NOPERM this user has no permissions to run the 'evalsha' command")): true,
		redis.Error("NOPERM this user has no permissions to run the 'get' command"):                             false,
		redis.Error("ERR NOSCRIPT"):               false,
		redis.Error(""):                           false,
		errors.New("NOSCRIPT no matching script"): false,
		ErrDown: false,
	} {
		if got := IsNoScript(err); got != want {
			t.Errorf("%q: %t", err, got)
		}
	}
	if IsNoScript(nil) {
		t.Error("nil is NOSCRIPT")
	}
}

func TestADialerThatReturnsNothingIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := open(t, Config{Name: "m", Dialer: func(context.Context, string, string) (net.Conn, error) { return nil, nil }})
		synctest.Wait()
		if c := start(t, p, "PING").wait(); !errors.Is(c.Err, ErrDown) || !strings.Contains(c.Err.Error(), "neither a connection nor an error") {
			t.Errorf("error %v", c.Err)
		}
	})
}
