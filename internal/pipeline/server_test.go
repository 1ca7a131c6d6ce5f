package pipeline

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/internal/testutil"
)

const testRunID = "0123456789abcdef0123456789abcdef01234567"

// A fakeServer speaks RESP as its functions say. It serves connections in memory (dial) and of a
// listener (listen).
type fakeServer struct {
	t      *testing.T
	window int // of connections in memory

	// reply answers every command that is not part of a handshake, with the
	// bytes to send; nil: OK. It may write, block and close on its own.
	reply func(c *fakeConn, args []string) string
	// greet, if set, is called for handshake commands first; false: the usual answer follows.
	greet func(c *fakeConn, args []string) (string, bool)
	// accept, if set, is called before the first command is read; false: the
	// connection is not served but left alone.
	accept func(c *fakeConn) bool

	mu      sync.Mutex               // guards what follows
	held    map[string]chan struct{} // see hold
	conns   []*fakeConn
	closing bool
	wg      sync.WaitGroup // of the connections' goroutines
}

// A fakeConn is the server's side of one connection.
type fakeConn struct {
	net.Conn
	srv    *fakeServer
	number int      // counted from 1; also its CLIENT ID
	client *memConn // the other end, in memory

	mu       sync.Mutex // guards commands
	commands [][]string // all, the handshake's too, in order
}

func newFakeServer(t *testing.T) *fakeServer {
	s := &fakeServer{t: t, window: 1 << 20, held: make(map[string]chan struct{})}
	t.Cleanup(s.stop)
	return s
}

// hold makes the server read nothing more on a connection once it has read this command,
// until goOn is called, or the test ends.
func (s *fakeServer) hold(command string) (goOn func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	held := make(chan struct{})
	s.held[command] = held
	goOn = sync.OnceFunc(func() { close(held) })
	s.t.Cleanup(goOn) // before the server is stopped
	return goOn
}

// answers returns a reply function for known commands. All others are answered with OK.
func answers(known map[string]string) func(*fakeConn, []string) string {
	return func(_ *fakeConn, args []string) string { return cmp.Or(known[args[0]], "+OK\r\n") }
}

// stop closes all connections and waits for their goroutines.
func (s *fakeServer) stop() {
	s.mu.Lock()
	s.closing = true
	conns := slices.Clone(s.conns)
	s.mu.Unlock()
	for _, c := range conns {
		_ = c.Close()
	}
	s.wg.Wait()
}

// dial is the Dialer of a Config.
func (s *fakeServer) dial(context.Context, string, string) (net.Conn, error) {
	client, server := memPipe(s.window)
	if c := s.add(server); c != nil {
		c.client = client
		s.wg.Go(c.serve)
		return client, nil
	}
	return nil, errors.New("the server is stopped")
}

// listen accepts connections on the loopback and returns the address; cfg, if
// given, makes it a TLS server.
func (s *fakeServer) listen(network string, cfg *tls.Config) string {
	s.t.Helper()
	addr := "127.0.0.1:0"
	if network == "unix" {
		addr = s.t.TempDir() + "/s"
	}
	l, err := net.Listen(network, addr)
	if err != nil {
		s.t.Fatal(err)
	}
	s.wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			if cfg != nil {
				conn = tls.Server(conn, cfg)
			}
			if c := s.add(conn); c != nil {
				s.wg.Go(c.serve)
			} else {
				_ = conn.Close()
			}
		}
	})
	s.t.Cleanup(func() { _ = l.Close() }) // before stop, which waits
	return l.Addr().String()
}

func (s *fakeServer) add(conn net.Conn) *fakeConn {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return nil
	}
	c := &fakeConn{Conn: conn, srv: s, number: len(s.conns) + 1}
	s.conns = append(s.conns, c)
	return c
}

// dials is how many connections there were.
func (s *fakeServer) dials() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// conn returns the n-th connection, counted from 1.
func (s *fakeServer) conn(n int) *fakeConn {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n > len(s.conns) {
		s.t.Fatalf("connection %d of %d", n, len(s.conns))
	}
	return s.conns[n-1]
}

// setGreet changes greet while the server is in use.
func (s *fakeServer) setGreet(greet func(c *fakeConn, args []string) (string, bool)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.greet = greet
}

// serve reads commands and answers them, until the connection ends.
func (c *fakeConn) serve() {
	if c.srv.accept != nil && !c.srv.accept(c) {
		return
	}
	defer func() { _ = c.Close() }()
	rc := redis.NewConn(c, 0, 0)
	for {
		args, err := redis.Strings(rc.Receive()) // a command is an array of bulk strings
		if err != nil {
			return
		}
		c.mu.Lock()
		c.commands = append(c.commands, args)
		c.mu.Unlock()
		if out := c.answer(args); out != "" {
			if _, err := io.WriteString(c, out); err != nil {
				return
			}
		}
	}
}

func (c *fakeConn) answer(args []string) string {
	c.srv.mu.Lock()
	greet, held := c.srv.greet, c.srv.held[args[0]]
	c.srv.mu.Unlock()
	if held != nil {
		<-held
	}
	if handshakes(args) {
		if greet != nil {
			if out, ok := greet(c, args); ok {
				return out
			}
		}
		return c.greeting(args)
	}
	if c.srv.reply == nil {
		return "+OK\r\n"
	}
	return c.srv.reply(c, args)
}

// handshakes reports whether a command is one that the tests' calls never use.
func handshakes(args []string) bool {
	return slices.Contains([]string{"AUTH", "SELECT", "CLIENT", "INFO", "SCRIPT", "PING"}, args[0])
}

func (c *fakeConn) greeting(args []string) string {
	switch strings.Join(args[:min(2, len(args))], " ") {
	case "CLIENT ID":
		return ":" + strconv.Itoa(c.number) + "\r\n"
	case "CLIENT KILL":
		return ":1\r\n"
	case "INFO server":
		return bulk("# Server\r\nredis_version:7.0.0\r\nrun_id:" + testRunID + "\r\ntcp_port:6379\r\n")
	case "SCRIPT EXISTS": // it has the scripts whose SHA contains "exists"
		reply := string(AppendArray(nil, len(args)-2))
		for _, sha := range args[2:] {
			reply += ":" + strconv.Itoa(strings.Count(sha, "exists")) + "\r\n"
		}
		return reply
	case "SCRIPT LOAD":
		return bulk("0123456789012345678901234567890123456789")
	case "PING":
		return "+PONG\r\n"
	default:
		return "+OK\r\n"
	}
}

// seen returns the commands so far.
func (c *fakeConn) seen() [][]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.commands)
}

// calls returns the commands so far without those of the handshake, each joined by spaces.
func (c *fakeConn) calls() []string {
	var calls []string
	for _, args := range c.seen() {
		if !handshakes(args) {
			calls = append(calls, strings.Join(args, " "))
		}
	}
	return calls
}

// reset closes the connection with a reset.
func (c *fakeConn) reset() {
	conn := c.Conn
	if t, ok := conn.(*tls.Conn); ok {
		conn = t.NetConn()
	}
	if l, ok := conn.(interface{ SetLinger(int) error }); ok {
		_ = l.SetLinger(0)
	}
	_ = conn.Close()
}

func bulk(s string) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(s), s) }

// config returns the configuration that reaches the server in memory.
func (s *fakeServer) config() Config {
	return Config{Name: "master-1", Network: "tcp", Addr: "master-1:6379", Dialer: s.dial}
}

// open makes a pipeline that is closed at the end of the test, before the server is.
func open(t *testing.T, cfg Config) *Pipeline {
	t.Helper()
	p := New(cfg)
	t.Cleanup(func() {
		p.Close()
		if n := p.Stats().InFlight; n != 0 {
			t.Errorf("%d calls in flight after Close", n)
		}
	})
	return p
}

// connect is open that waits until the master is connected.
func connect(t *testing.T, cfg Config) *Pipeline {
	t.Helper()
	p := open(t, cfg)
	waitUp(t, p)
	return p
}

// waitUp waits until the master is connected. In a bubble the time is virtual.
func waitUp(t *testing.T, p *Pipeline) {
	t.Helper()
	testutil.Within(t, bound, "the master is connected", func() bool { up, _ := p.Up(); return up })
}

// short sets limits for tests on real sockets.
func short(cfg Config) Config {
	cfg.DialTimeout = 5 * time.Second
	cfg.StallLimit = 5 * time.Second
	cfg.MinBackoff, cfg.MaxBackoff = time.Millisecond, 10*time.Millisecond
	return cfg
}

// Up reports whether the master is connected; otherwise the error matches ErrDown and says why.
func (p *Pipeline) Up() (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state == up {
		return true, nil
	}
	return false, &DownError{p.cause}
}
