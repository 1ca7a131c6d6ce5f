package pipeline

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io"
	"math/big"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// testCA is a certificate authority of the tests' own, and a certificate that
// it gave to 127.0.0.1 and master.test.
type testCA struct {
	pool *x509.CertPool
	cert tls.Certificate
}

var newTestCA = sync.OnceValues(func() (*testCA, error) {
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	ca := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "redquorum tests"},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(time.Hour),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign,
	}
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, caKey.Public(), caKey)
	if err != nil {
		return nil, err
	}
	if ca, err = x509.ParseCertificate(caDER); err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(2),
		Subject:      pkix.Name{CommonName: "master"},
		NotBefore:    ca.NotBefore,
		NotAfter:     ca.NotAfter,
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
		DNSNames:     []string{"master.test"},
	}, ca, key.Public(), caKey)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AddCert(ca)
	return &testCA{pool, tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}}, nil
})

func useTestCA(t *testing.T) *testCA {
	t.Helper()
	ca, err := newTestCA()
	if err != nil {
		t.Fatal(err)
	}
	return ca
}

// overTLS makes a server that speaks TLS, and how to reach it.
func overTLS(t *testing.T, change func(*tls.Config)) (*fakeServer, Config) {
	t.Helper()
	ca := useTestCA(t)
	s := newFakeServer(t)
	server := &tls.Config{Certificates: []tls.Certificate{ca.cert}}
	if change != nil {
		change(server)
	}
	cfg := short(s.config())
	cfg.Addr, cfg.Dialer = s.listen("tcp", server), nil
	cfg.TLS = &tls.Config{RootCAs: ca.pool}
	return s, cfg
}

func TestTLSWithASelfMadeCA(t *testing.T) {
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		t.Run(tls.VersionName(version), func(t *testing.T) {
			s, cfg := overTLS(t, func(c *tls.Config) { c.MaxVersion = version })
			cfg.Password, cfg.ClientName = "pw", "redquorum"
			p := connect(t, cfg)
			value := strings.Repeat("x", 1<<20)
			s.reply = func(_ *fakeConn, args []string) string { return bulk(args[1]) }
			if c := do(t, p, "ECHO", value); c.Err != nil || string(c.Reply.([]byte)) != value {
				t.Errorf("error %v", c.Err)
			}
			// It is replaced like any other.
			s.conn(1).reset()
			eventually(t, "there is a second connection", func() bool { return p.Stats().Epoch == 2 })
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
		{"the CA is another", nil, func(c *Config) { c.TLS = &tls.Config{RootCAs: x509.NewCertPool()} }, "unknown authority"},
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
			p := open(t, cfg)
			c := do(t, p, "GET", "x")
			var config *ConfigError
			if !errors.As(c.Err, &config) || config.What != "TLS handshake" || !strings.Contains(config.Error(), test.want) {
				t.Errorf("error %v, want a ConfigError with %q", c.Err, test.want)
			}
		})
	}
}

func TestTLSVerifiesWhatItIsTold(t *testing.T) {
	for name, change := range map[string]func(*tls.Config){
		"another name, which is in the certificate": func(c *tls.Config) { c.ServerName = "master.test" },
		"no verification": func(c *tls.Config) { c.RootCAs, c.InsecureSkipVerify = nil, true },
	} {
		t.Run(name, func(t *testing.T) {
			_, cfg := overTLS(t, nil)
			change(cfg.TLS)
			p := connect(t, cfg)
			mustAnswer(t, p, "OK", "GET", "x")
		})
	}
}

func TestAClientCertificateIsShown(t *testing.T) {
	ca := useTestCA(t)
	_, cfg := overTLS(t, func(c *tls.Config) {
		c.ClientAuth, c.ClientCAs = tls.RequireAndVerifyClientCert, ca.pool
	})
	cfg.TLS.Certificates = []tls.Certificate{ca.cert}
	p := connect(t, cfg)
	mustAnswer(t, p, "OK", "GET", "x")
}

// Redis answers what it takes for commands; nothing of it is TLS.
func TestTLSAgainstAPlainServerSaysSo(t *testing.T) {
	for name, test := range map[string]struct{ answer, want string }{
		"an error reply":        {"-ERR unknown command\r\n", "does not look like a TLS handshake"},
		"HTTP":                  {"HTTP/1.1 400 Bad Request\r\n\r\n", "does not look like a TLS handshake"},
		"an alert that is none": {"\x15\x03\x03\x00\x01a", "unexpected message"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newFakeServer(t)
			s.accept = func(c *fakeConn) bool {
				_, _ = bufio.NewReader(c).ReadByte()
				_, _ = io.WriteString(c, test.answer)
				_ = c.Close()
				return false
			}
			cfg := short(s.config())
			cfg.Addr, cfg.Dialer, cfg.TLS = s.listen("tcp", nil), nil, &tls.Config{RootCAs: useTestCA(t).pool}
			p := open(t, cfg)
			c := do(t, p, "GET", "x")
			var config *ConfigError
			if !errors.As(c.Err, &config) || config.What != "TLS handshake" || !strings.Contains(config.Error(), test.want) {
				t.Errorf("error %v, want a ConfigError with %q", c.Err, test.want)
			}
		})
	}
}

// The refusal may be there before the handshake can be written.
func TestATLSRefusalIsReadThoughTheConnectionIsClosed(t *testing.T) {
	cfg := newFakeServer(t).config()
	cfg.Dialer = func(context.Context, string, string) (net.Conn, error) {
		client, _ := memPipe(1)
		return newFailing(client,
			&net.OpError{Op: "remote error", Err: errors.New("tls: certificate required")},
			&net.OpError{Op: "write", Net: "tcp", Err: syscall.EPIPE}), nil
	}
	p := open(t, cfg)
	var config *ConfigError
	if c := do(t, p, "GET", "x"); !errors.As(c.Err, &config) || config.Error() != "TLS handshake: remote error: tls: certificate required" {
		t.Errorf("error %v", c.Err)
	}
}

// A connection that breaks in the handshake is no refusal: a master that is
// just starting, or stopping, does that.
func TestATLSHandshakeThatBreaksIsALostConnection(t *testing.T) {
	for name, hangUp := range map[string]func(*fakeConn){
		"closed": func(c *fakeConn) { _, _ = bufio.NewReader(c).ReadByte(); _ = c.Close() },
		"reset":  func(c *fakeConn) { _, _ = bufio.NewReader(c).ReadByte(); c.reset() },
		"closed in mid-record": func(c *fakeConn) {
			_, _ = c.Read(make([]byte, 64<<10))
			_, _ = io.WriteString(c, "\x16\x03\x03\x01\x00abc")
			_ = c.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newFakeServer(t)
			s.accept = func(c *fakeConn) bool { hangUp(c); return false }
			cfg := short(s.config())
			cfg.Addr, cfg.Dialer, cfg.TLS = s.listen("tcp", nil), nil, &tls.Config{RootCAs: useTestCA(t).pool}
			p := open(t, cfg)
			c := do(t, p, "GET", "x")
			var config *ConfigError
			if errors.As(c.Err, &config) || !errors.Is(c.Err, ErrConnectionLost) {
				t.Errorf("error %v, want ErrConnectionLost and no ConfigError", c.Err)
			}
		})
	}
}

func TestATLSHandshakeThatHangsEndsWithTheDialTimeout(t *testing.T) {
	s := newFakeServer(t)
	s.accept = func(*fakeConn) bool { return false } // accepted, and left alone
	cfg := short(s.config())
	cfg.Addr, cfg.Dialer, cfg.TLS = s.listen("tcp", nil), nil, &tls.Config{RootCAs: useTestCA(t).pool}
	cfg.DialTimeout = 50 * time.Millisecond
	p := open(t, cfg)
	c := do(t, p, "GET", "x")
	if !errors.Is(c.Err, ErrTimeout) || errors.Is(c.Err, context.DeadlineExceeded) || errors.Is(c.Err, context.Canceled) {
		t.Errorf("error %v, want ErrTimeout and no context's error", c.Err)
	}
}
