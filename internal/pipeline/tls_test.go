package pipeline

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/internal/testutil"
)

// newAuthority makes the certificate authority of these tests.
var newAuthority = sync.OnceValues(redistest.NewAuthority)

// tlsConfigs returns the configurations of a TLS server and of a client that trusts it. The client
// shows no certificate.
func tlsConfigs(t *testing.T) (server, client *tls.Config) {
	t.Helper()
	a, err := newAuthority()
	if err != nil {
		t.Fatal(err)
	}
	client = a.ClientConfig()
	server = &tls.Config{Certificates: client.Certificates, ClientCAs: a.Pool()} //nolint:gosec // the tests set the versions
	client.Certificates = nil
	return server, client
}

// overTLS makes a TLS server, and the configuration that reaches it.
func overTLS(t *testing.T, change func(*tls.Config)) (*fakeServer, Config) {
	t.Helper()
	s := newFakeServer(t)
	server, client := tlsConfigs(t)
	if change != nil {
		change(server)
	}
	cfg := short(s.config())
	cfg.Addr, cfg.Dialer, cfg.TLS = s.listen("tcp", server), nil, client
	return s, cfg
}

func TestTLSWithASelfMadeCAAndAClientCertificate(t *testing.T) {
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		t.Run(tls.VersionName(version), func(t *testing.T) {
			var own []tls.Certificate
			s, cfg := overTLS(t, func(c *tls.Config) {
				c.MaxVersion, c.ClientAuth, own = version, tls.RequireAndVerifyClientCert, c.Certificates
			})
			cfg.TLS.Certificates, cfg.Password, cfg.ClientName = own, "pw", "redquorum"
			p := connect(t, cfg)
			value := strings.Repeat("x", 1<<20)
			s.reply = func(_ *fakeConn, args []string) string { return bulk(args[1]) }
			if c := do(t, p, "ECHO", value); c.Err != nil || string(c.Reply.([]byte)) != value {
				t.Errorf("error %v", c.Err)
			}
			// A TLS connection is replaced like any other.
			s.conn(1).reset()
			testutil.Eventually(t, "there is a second connection", func() bool { return p.Stats().Epoch == 2 })
			if c := do(t, p, "ECHO", "y"); c.Err != nil || c.Epoch != 2 {
				t.Errorf("error %v, epoch %d", c.Err, c.Epoch)
			}
			if got := cfg.TLS.ServerName; got != "" {
				t.Errorf("the caller's configuration was changed: ServerName %q", got)
			}
		})
	}
}

func TestTLSIsRefusedForAReason(t *testing.T) {
	for _, test := range []struct {
		name   string
		server func(*tls.Config)
		client func(*Config)
		want   string // part of the text
	}{
		{"the CA is unknown", nil, func(c *Config) { c.TLS = &tls.Config{} }, "unknown authority"},
		{"the certificate is for another name", nil, func(c *Config) { c.TLS.ServerName = "other.test" }, "other.test"},
		{"the master wants a client certificate (TLS 1.3)", func(c *tls.Config) {
			c.ClientAuth = tls.RequireAnyClientCert
		}, func(*Config) {}, "certificate required"},
		{"the master wants a client certificate (TLS 1.2)", func(c *tls.Config) {
			c.ClientAuth, c.MaxVersion = tls.RequireAnyClientCert, tls.VersionTLS12
		}, func(*Config) {}, "remote error: tls"},
		{"the versions do not meet", func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 }, func(c *Config) {
			c.TLS.MinVersion = tls.VersionTLS13
		}, "protocol version"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, cfg := overTLS(t, test.server)
			test.client(&cfg)
			mustBeRefused(t, open(t, cfg), "TLS handshake", test.want)
		})
	}
}

// Programs whose authorities change often let crypto/tls verify nothing, and verify all in
// VerifyConnection.
func TestVerifyConnectionIsGivenTheHostOfTheURL(t *testing.T) {
	for _, test := range []struct {
		host    string // the certificate is for localhost and 127.0.0.1
		sni     string
		refused bool
	}{
		{"localhost", "localhost", false},
		{"127.0.0.1", "", false},
		{"other.test", "other.test", true},
		{"10.0.0.1", "", true},
	} {
		t.Run(test.host, func(t *testing.T) {
			var sni atomic.Value
			s, cfg := overTLS(t, func(c *tls.Config) {
				c.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
					sni.Store(hello.ServerName)
					return nil, nil
				}
			})
			at := cfg.Addr
			_, port, _ := net.SplitHostPort(at)
			cfg.Addr, cfg.Password = net.JoinHostPort(test.host, port), "secret"
			cfg.Dialer = func(ctx context.Context, network, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, network, at)
			}
			authorities := cfg.TLS.RootCAs
			cfg.TLS.RootCAs, cfg.TLS.InsecureSkipVerify = nil, true
			cfg.TLS.VerifyConnection = func(state tls.ConnectionState) error {
				_, err := state.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: authorities, DNSName: state.ServerName})
				return err
			}
			p := open(t, cfg)
			if test.refused {
				mustBeRefused(t, p, "TLS handshake", test.host)
				if seen := s.conn(1).seen(); len(seen) != 0 {
					t.Errorf("the master was sent %q, want nothing: the password is among it", seen)
				}
			} else {
				mustAnswer(t, p, "OK", "GET", "x")
			}
			if got := sni.Load(); got != test.sni {
				t.Errorf("SNI %q, want %q", got, test.sni)
			}
		})
	}
}

// Redis takes a TLS handshake for commands, and its answer is not TLS. A TLS master answers plain
// commands with an alert.
func TestTheErrorSaysIfOnlyOneSideUsesTLS(t *testing.T) {
	for name, test := range map[string]struct {
		tls                bool // the client speaks it
		answer, what, want string
	}{
		"an error reply":        {true, "-ERR unknown command\r\n", "TLS handshake", "does not look like a TLS handshake"},
		"an alert that is none": {true, "\x15\x03\x03\x00\x01a", "TLS handshake", "unexpected message"},
		"an alert":              {false, "\x15\x03\x01\x00\x02\x02\x46", "handshake", "rediss://"},
	} {
		inBubble(t, name, func(t *testing.T) {
			s := newFakeServer(t)
			s.accept = func(c *fakeConn) bool {
				_, _ = c.Read(make([]byte, 64<<10))
				_, _ = io.WriteString(c, test.answer)
				_ = c.Close()
				return false
			}
			cfg := s.config()
			if test.tls {
				cfg.TLS = &tls.Config{} //nolint:gosec // nobody speaks it
			}
			mustBeRefused(t, open(t, cfg), test.what, test.want)
		})
	}
}

// The refusal may arrive before the handshake can be written.
func TestATLSRefusalIsReadThoughTheConnectionIsClosed(t *testing.T) {
	cfg := newFakeServer(t).config()
	cfg.Dialer = func(context.Context, string, string) (net.Conn, error) {
		client, _ := memPipe(1)
		return newFailing(client,
			&net.OpError{Op: "remote error", Err: errors.New("tls: certificate required")},
			&net.OpError{Op: "write", Net: "tcp", Err: syscall.EPIPE}), nil
	}
	mustBeRefusedWith(t, open(t, cfg), "TLS handshake", "remote error: tls: certificate required")
}
