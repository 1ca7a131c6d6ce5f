package bench

import (
	"errors"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

const (
	// proxyQueue bounds what is on its way in one direction of a connection, in
	// reads; when it is full the sender's data waits in the kernel.
	proxyQueue = 4096
	proxyRead  = 16 << 10 // bytes
)

// A delayProxy stands before a server and delays every byte in both directions,
// as a long line does: what is sent together arrives together, and the line
// carries any number of messages at a time.
type delayProxy struct {
	listener net.Listener
	target   string
	delay    time.Duration // one way
	pumps    sync.WaitGroup

	mu     sync.Mutex
	closed bool
	conns  []net.Conn // guarded by mu
}

// startDelayProxy starts one before a URL, for a test or benchmark, and returns
// the URL to use instead.
func startDelayProxy(tb testing.TB, target string, delay time.Duration) string {
	tb.Helper()
	p, url, err := newDelayProxy(target, delay)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(p.close)
	return url
}

// newDelayProxy starts one before a URL, and returns the URL to use instead. The
// caller closes it.
func newDelayProxy(target string, delay time.Duration) (*delayProxy, string, error) {
	u, err := url.Parse(target)
	if err != nil {
		return nil, "", err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", err
	}
	p := &delayProxy{listener: listener, target: u.Host, delay: delay}
	p.pumps.Go(p.accept)
	u.Host = listener.Addr().String()
	return p, u.String(), nil
}

func (p *delayProxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return // closed
		}
		server, err := net.Dial("tcp", p.target)
		if err != nil {
			client.Close()
			continue
		}
		if !p.add(client, server) {
			return
		}
		p.pumps.Go(func() { delayed(server, client, p.delay) })
		p.pumps.Go(func() { delayed(client, server, p.delay) })
	}
}

// add remembers the connections for close, or closes them after it.
func (p *delayProxy) add(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		for _, c := range conns {
			c.Close()
		}
		return false
	}
	p.conns = append(p.conns, conns...)
	return true
}

// close ends all connections, and waits for what is on its way to be given up,
// which takes about the delay.
func (p *delayProxy) close() {
	p.listener.Close()
	p.mu.Lock()
	p.closed = true
	for _, c := range p.conns {
		c.Close()
	}
	p.mu.Unlock()
	p.pumps.Wait()
}

// delayed copies until one of the two ends, and closes both. It waits for a
// moment, not for a duration, so delays do not add up.
func delayed(to io.WriteCloser, from io.ReadCloser, delay time.Duration) {
	type chunk struct {
		due  time.Time
		data []byte
	}
	line := make(chan chunk, proxyQueue)
	var reader sync.WaitGroup
	reader.Go(func() {
		defer close(line)
		room := make([]byte, proxyRead)
		for {
			n, err := from.Read(room)
			if n > 0 {
				line <- chunk{time.Now().Add(delay), append([]byte(nil), room[:n]...)}
			}
			if err != nil {
				return
			}
		}
	})
	for c := range line {
		time.Sleep(time.Until(c.due))
		if _, err := to.Write(c.data); err != nil {
			break
		}
	}
	// A reader that is at the full line has to get on, to see the end.
	_ = errors.Join(to.Close(), from.Close())
	for range line {
		continue // what is on its way is given up
	}
	reader.Wait()
}

func TestDelayedKeepsTheDelayAndTheOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const delay = 10 * time.Millisecond
		from, sender := net.Pipe()
		receiver, to := net.Pipe()
		done := make(chan struct{})
		go func() {
			defer close(done)
			delayed(to, from, delay)
		}()
		start := time.Now()
		var sent sync.WaitGroup
		sent.Go(func() {
			for _, message := range []string{"a", "b", "c"} {
				if _, err := io.WriteString(sender, message); err != nil {
					t.Error(err)
				}
				time.Sleep(time.Millisecond)
			}
		})
		room := make([]byte, 1)
		for i, want := range []string{"a", "b", "c"} {
			if _, err := io.ReadFull(receiver, room); err != nil || string(room) != want {
				t.Fatalf("%q, error %v: want %q", room, err, want)
			}
			if got, want := time.Since(start), delay+time.Duration(i)*time.Millisecond; got != want {
				t.Errorf("%s arrived after %v: want %v", room, got, want)
			}
		}
		sent.Wait()
		sender.Close()
		<-done
		if _, err := receiver.Read(room); !errors.Is(err, io.EOF) {
			t.Errorf("error %v after the sender's end: want %v", err, io.EOF)
		}
	})
}
