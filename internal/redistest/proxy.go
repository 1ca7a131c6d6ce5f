package redistest

import (
	"bytes"
	"io"
	"net"
	"sync"
	"time"
)

const (
	room  = 16 << 10 // bytes of one read
	queue = 4096     // reads that wait in the proxy; more bytes wait in the sender's kernel
)

// A direction of a connection.
type direction int

const (
	requests direction = iota
	replies
)

// A Proxy forwards TCP connections to a server. When a fault ends, bytes that it held back arrive
// late, as in a network. Its methods are safe for concurrent use.
type Proxy struct {
	listener net.Listener
	quit     chan struct{}
	end      func() // closes quit
	pumps    sync.WaitGroup

	mu     sync.Mutex // guards what follows
	target string
	delay  [2]time.Duration // of each direction
	held   [2]chan struct{} // nil where the direction is open; closed when it opens
	dead   chan struct{}    // HalfOpen closes it for the present connections, and makes a new one
	conns  map[net.Conn]bool
	// garble has the wrong replies, which replace right ones in turn, after so many reads of a
	// connection; empty: no reply is replaced.
	garble  []string
	after   int
	garbled int
}

// NewProxy starts a proxy for a server, at a port of 127.0.0.1. Close it.
func NewProxy(target string) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{
		listener: listener, target: target, conns: map[net.Conn]bool{},
		quit: make(chan struct{}), dead: make(chan struct{}),
	}
	p.end = sync.OnceFunc(func() { close(p.quit) })
	p.pumps.Go(p.accept)
	return p, nil
}

// Addr returns the address of the proxy.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Target returns the server's address.
func (p *Proxy) Target() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.target
}

// Retarget makes the proxy forward to another server, from the next connection on.
func (p *Proxy) Retarget(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
}

// CutReplies holds back what the server sends. On existing connections it still gets what is sent
// to it. New connections do not reach it.
func (p *Proxy) CutReplies() { p.hold(replies) }

// Cut holds back everything.
func (p *Proxy) Cut() {
	p.hold(requests)
	p.hold(replies)
}

func (p *Proxy) hold(d direction) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held[d] == nil {
		p.held[d] = make(chan struct{})
	}
}

// HalfOpen makes the existing connections deliver nothing any more, either way, for good. New ones
// are served.
func (p *Proxy) HalfOpen() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.dead)
	p.dead = make(chan struct{})
}

// Slow delays every request from now on. Replies are late by as much.
func (p *Proxy) Slow(by time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay[requests] = by
}

// Delay delays everything from now on, by as much each way, like a long distance: bytes that are
// sent together arrive together, and any number of messages is on its way.
func (p *Proxy) Delay(by time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = [2]time.Duration{by, by}
}

// Garble makes every connection, existing ones too, deliver a wrong reply after so many reads of
// right ones, and then end. The wrong replies are used in turn. What the server sends behind one is
// dropped, because it would be taken for replies to other commands.
func (p *Proxy) Garble(after int, replies ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.garble, p.after = replies, after
}

// Garbled returns how many wrong replies were delivered.
func (p *Proxy) Garbled() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.garbled
}

// wrong returns the reply that replaces a connection's n-th read of replies, if one does.
func (p *Proxy) wrong(d direction, n int) (reply string, garbled bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if d == requests || len(p.garble) == 0 || n <= p.after {
		return "", false
	}
	p.garbled++
	return p.garble[(p.garbled-1)%len(p.garble)], true
}

// Heal ends all faults. Bytes that were held back arrive now, unless the sender has closed its
// connection meanwhile. Delayed bytes still arrive late.
func (p *Proxy) Heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay, p.garble = [2]time.Duration{}, nil
	for d, held := range p.held {
		if held != nil {
			close(held)
			p.held[d] = nil
		}
	}
}

// Close ends all connections and waits for the proxy's goroutines. Bytes on their way are lost.
func (p *Proxy) Close() {
	p.mu.Lock()
	p.end()
	_ = p.listener.Close()
	for c := range p.conns {
		_ = c.Close()
	}
	p.mu.Unlock()
	p.pumps.Wait()
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return // closed
		}
		p.pumps.Go(func() { p.connect(client) })
	}
}

// connect serves one connection. During a cut it does not reach the server: in a network its
// handshake would be lost.
func (p *Proxy) connect(client net.Conn) {
	defer p.forget(client)
	if !p.remember(client) {
		return
	}
	if p.cut() {
		for p.cut() && p.pass(replies, nil) && p.pass(requests, nil) {
			continue
		}
		return
	}
	server, err := net.DialTimeout("tcp", p.Target(), time.Second)
	if err != nil {
		return // the client's connection ends, too
	}
	defer p.forget(server)
	if !p.remember(server) {
		return
	}
	gone := make(chan struct{}) // the client has closed its end
	dead := p.deadFrom()
	var back sync.WaitGroup
	back.Go(func() { p.carry(replies, client, server, nil, gone, dead) })
	p.carry(requests, server, client, gone, gone, dead)
	back.Wait()
}

func (p *Proxy) cut() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.held[requests] != nil || p.held[replies] != nil
}

func (p *Proxy) remember(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.quit:
		return false
	default:
		p.conns[c] = true
		return true
	}
}

func (p *Proxy) forget(c net.Conn) {
	_ = c.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
}

// carry copies one way until one end closes. When all bytes on their way have arrived, it closes
// both. It closes ended, if that is not nil, when from has ended.
func (p *Proxy) carry(d direction, to, from net.Conn, ended chan<- struct{}, gone, dead <-chan struct{}) {
	type chunk struct {
		due  time.Time
		data []byte
	}
	under := make(chan chunk, queue)
	var reader sync.WaitGroup
	reader.Go(func() {
		defer close(under)
		if ended != nil {
			defer close(ended)
		}
		data := make([]byte, room)
		for {
			n, err := from.Read(data)
			if n > 0 {
				select {
				case under <- chunk{time.Now().Add(p.delayOf(d)), bytes.Clone(data[:n])}:
				case <-p.quit:
					return
				}
			}
			if err != nil {
				return
			}
		}
	})
	reads := 0
	for c := range under {
		if !p.sleepUntil(c.due) || !p.pass(d, gone) {
			break
		}
		select {
		case <-dead:
			continue // lost
		default:
		}
		reads++
		if reply, garbled := p.wrong(d, reads); garbled {
			_, _ = io.WriteString(to, reply)
			break
		}
		if _, err := to.Write(c.data); err != nil {
			break
		}
	}
	_ = to.Close()
	_ = from.Close() // the reader sees the end
	for range under {
		continue // lost, too
	}
	reader.Wait()
}

func (p *Proxy) delayOf(d direction) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.delay[d]
}

func (p *Proxy) deadFrom() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dead
}

// sleepUntil returns false if the proxy is closed meanwhile.
func (p *Proxy) sleepUntil(due time.Time) bool {
	left := time.Until(due)
	if left <= 0 {
		return true
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-p.quit:
		return false
	}
}

// pass waits while the direction is held. It returns false if the proxy is closed meanwhile, or the
// client is gone.
func (p *Proxy) pass(d direction, gone <-chan struct{}) bool {
	for {
		p.mu.Lock()
		held := p.held[d]
		p.mu.Unlock()
		if held == nil {
			return true
		}
		select {
		case <-held:
		case <-gone:
			return false
		case <-p.quit:
			return false
		}
	}
}
