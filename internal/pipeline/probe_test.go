package pipeline

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/internal/rig"
)

// refusal waits until the master counts as down because of a ConfigError. That
// is the first time that it is looked at, unless this machine is slow.
func refusal(t *testing.T, p *Pipeline) *ConfigError {
	t.Helper()
	var config *ConfigError
	rig.Eventually(t, "the master is down because of a refusal", func() bool {
		return errors.As(do(t, p, "GET", "x").Err, &config)
	})
	return config
}

// Redis hangs up on plain commands where it expects TLS, as crypto/tls does.
func TestPlainAgainstATLSServerSaysSo(t *testing.T) {
	for name, server := range map[string]func(*tls.Config){
		"that greets everybody":              nil,
		"that wants a client certificate":    func(c *tls.Config) { c.ClientAuth = tls.RequireAnyClientCert },
		"that speaks another version of TLS": func(c *tls.Config) { c.MinVersion = tls.VersionTLS13 },
	} {
		t.Run(name, func(t *testing.T) {
			_, cfg := overTLS(t, server)
			cfg.TLS, cfg.Password = nil, "pw"
			p := open(t, cfg)
			if err := refusal(t, p); !strings.Contains(err.Error(), "rediss://") {
				t.Errorf("error %v", err)
			}
		})
	}
}

// Redis waits for the end of the line where it is sent a TLS handshake.
func waitsForALine(answer string, seen func(line string)) func(*fakeConn) bool {
	return func(c *fakeConn) bool {
		r := bufio.NewReader(c)
		line, err := r.ReadString('\n')
		for err == nil && !strings.HasPrefix(line, "PING") { // a handshake may have a line feed, too
			line, err = r.ReadString('\n')
		}
		if err == nil {
			seen(line)
			_, _ = io.WriteString(c, answer)
			_, _ = r.ReadByte() // until the other side has read it
		}
		_ = c.Close()
		return false
	}
}

func TestTLSAgainstAServerThatWaitsForALineSaysSo(t *testing.T) {
	for _, answer := range []string{"+PONG\r\n", "-NOAUTH Authentication required.\r\n", "-NOPERM this user has no permissions\r\n"} {
		t.Run(answer, func(t *testing.T) {
			s := newFakeServer(t)
			lines := make(chan string, 10)
			s.accept = waitsForALine(answer, func(line string) { lines <- line })
			cfg := short(s.config())
			cfg.Addr, cfg.Dialer = s.listen("tcp", nil), nil
			_, cfg.TLS = tlsConfigs(t)
			cfg.DialTimeout, cfg.Password = 50*time.Millisecond, "pw"
			p := open(t, cfg)
			if err := refusal(t, p); err.What != "TLS handshake" || !strings.Contains(err.Error(), " redis://") {
				t.Errorf("error %v", err)
			}
			if line := rig.Await(t, bound, "the server was sent a line", lines); line != "PING\r\n" {
				t.Errorf("the server was sent %q without TLS, want PING alone", line)
			}
		})
	}
}

// A look costs a connection: not one with every dial.
func TestASilentMasterIsLookedAtNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t)
		var dials, looks atomic.Int64
		s.accept = func(c *fakeConn) bool {
			var first [1]byte
			if _, err := io.ReadFull(c, first[:]); err == nil && first[0] == '*' {
				dials.Add(1)
			} else {
				looks.Add(1)
			}
			_ = c.Close()
			return false
		}
		cfg := s.config()
		cfg.MinBackoff, cfg.MaxBackoff = time.Second, time.Second
		p := open(t, cfg)
		for dials.Load() < 40 {
			time.Sleep(time.Millisecond)
		}
		p.Close()
		if n := looks.Load(); n != 3 { // after failures 1, 17 and 33
			t.Errorf("%d looks at %d dials, want 3", n, dials.Load())
		}
	})
}

func TestCloseEndsALook(t *testing.T) {
	for _, dialHangs := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := newFakeServer(t)
			s.accept = func(c *fakeConn) bool {
				if c.number == 1 {
					_ = c.Close()
				}
				return false // the look is left alone
			}
			cfg := s.config()
			cfg.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
				if dialHangs && s.dials() > 0 {
					<-ctx.Done()
					return nil, ctx.Err()
				}
				return s.dial(ctx, network, addr)
			}
			p := open(t, cfg)
			w := start(t, p, "GET", "x")
			synctest.Wait()
			begun := time.Now()
			p.Close()
			if took := time.Since(begun); took != 0 {
				t.Errorf("Close took %v", took)
			}
			if w.pending() || w.call.Err == nil {
				t.Errorf("pending %t, error %v", w.pending(), w.call.Err)
			}
		})
	}
}

// The look is taken now and then, but what it found is the cause all the time,
// until the master behaves otherwise.
func TestWhatALookFoundStaysTheCause(t *testing.T) {
	_, cfg := overTLS(t, nil)
	cfg.TLS = nil
	var dials atomic.Int64
	var gone atomic.Bool
	cfg.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		dials.Add(1)
		if gone.Load() {
			return nil, errRefused
		}
		return new(net.Dialer).DialContext(ctx, network, addr)
	}
	p := open(t, cfg)
	_ = refusal(t, p)
	for last := dials.Load() + 8; dials.Load() < last; time.Sleep(time.Millisecond / 4) {
		var config *ConfigError
		if _, err := p.Up(); !errors.As(err, &config) {
			t.Fatalf("the cause is %v", err)
		}
	}
	gone.Store(true)
	rig.Eventually(t, "the cause is that the dial is refused", func() bool {
		_, err := p.Up()
		return errors.Is(err, errRefused) && !errors.As(err, new(*ConfigError))
	})
}
