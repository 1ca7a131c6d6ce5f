// Package line is the way to a server, with faults: it holds back what is sent
// one way or both ways, and delays it, for connections that stay open meanwhile.
// It does what a network does that heals in time: what was under way arrives
// late.
package line

import (
	"io"
	"net"
	"sync"
	"time"
)

const (
	room  = 16 << 10 // bytes of one read
	queue = 4096     // reads under way; beyond it the sender's kernel keeps them
)

// A direction of a connection.
type direction int

const (
	requests direction = iota
	replies
)

// A Line forwards TCP connections to a server. Its methods are safe for
// concurrent use.
type Line struct {
	listener net.Listener
	quit     chan struct{}
	pumps    sync.WaitGroup

	mu     sync.Mutex // guards what follows
	target string
	delay  time.Duration    // of requests
	held   [2]chan struct{} // nil where the direction is open; closed when it opens
	dead   chan struct{}    // closed when nothing comes through any more on the connections that there are
	conns  map[net.Conn]bool
	// garble is what takes the place of replies, in turn, after so many reads of
	// a connection; empty: nothing does.
	garble  []string
	after   int
	garbled int
}

// New starts a line to a server. Close it.
func New(target string) (*Line, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l := &Line{listener: listener, target: target, quit: make(chan struct{}), dead: make(chan struct{}), conns: map[net.Conn]bool{}}
	l.pumps.Go(l.accept)
	return l, nil
}

// Addr is where clients find the line.
func (l *Line) Addr() string { return l.listener.Addr().String() }

// Target is the server's address.
func (l *Line) Target() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.target
}

// Retarget makes the line lead to another server, from the next connection on.
func (l *Line) Retarget(target string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.target = target
}

// CutReplies holds back what the server sends. What is sent to it arrives, on
// connections that there are; no new ones come about.
func (l *Line) CutReplies() { l.hold(replies) }

// Cut holds back everything.
func (l *Line) Cut() {
	l.hold(requests)
	l.hold(replies)
}

func (l *Line) hold(d direction) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held[d] == nil {
		l.held[d] = make(chan struct{})
	}
}

// HalfOpen lets nothing come through any more, either way, on the connections
// that there are, for good; new ones are served.
func (l *Line) HalfOpen() {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.dead)
	l.dead = make(chan struct{})
}

// Slow delays every request from now on; answers to them are late by as much.
func (l *Line) Slow(by time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.delay = by
}

// Garble makes every connection that is made from now on, and those that there
// are, deliver a wrong reply after so many reads of right ones, and end with
// it: the given ones in turn. What the server says is not sent any more then,
// since the replies behind would pass for those to other commands.
func (l *Line) Garble(after int, replies ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.garble, l.after = replies, after
}

// Garbled is how many wrong replies were delivered.
func (l *Line) Garbled() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.garbled
}

// wrong is what takes the place of a connection's n-th read of replies.
func (l *Line) wrong(d direction, n int) (reply string, garbled bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if d == requests || len(l.garble) == 0 || n <= l.after {
		return "", false
	}
	l.garbled++
	return l.garble[(l.garbled-1)%len(l.garble)], true
}

// Heal ends all faults. What was held back arrives now, unless the sender has
// given up its connection meanwhile; what is delayed still arrives late.
func (l *Line) Heal() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.delay, l.garble = 0, nil
	for d, held := range l.held {
		if held != nil {
			close(held)
			l.held[d] = nil
		}
	}
}

// Close ends all connections and waits for the line's goroutines.
func (l *Line) Close() {
	l.mu.Lock()
	select {
	case <-l.quit:
	default:
		close(l.quit)
	}
	_ = l.listener.Close()
	for c := range l.conns {
		_ = c.Close()
	}
	l.mu.Unlock()
	l.pumps.Wait()
}

func (l *Line) accept() {
	for {
		client, err := l.listener.Accept()
		if err != nil {
			return // closed
		}
		l.pumps.Go(func() { l.connect(client) })
	}
}

// connect serves one connection. One that is made during a cut comes to nothing:
// in a network its handshake would be lost.
func (l *Line) connect(client net.Conn) {
	defer l.forget(client)
	if !l.remember(client) {
		return
	}
	if l.cut() {
		for l.cut() && l.pass(replies, nil) && l.pass(requests, nil) {
			continue
		}
		return
	}
	server, err := net.DialTimeout("tcp", l.Target(), time.Second)
	if err != nil {
		return // the client's connection ends, too
	}
	defer l.forget(server)
	if !l.remember(server) {
		return
	}
	gone := make(chan struct{}) // the client has closed its end
	dead := l.deadFrom()
	var back sync.WaitGroup
	back.Go(func() { l.carry(replies, client, server, nil, gone, dead) })
	l.carry(requests, server, client, gone, gone, dead)
	back.Wait()
}

func (l *Line) cut() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held[requests] != nil || l.held[replies] != nil
}

func (l *Line) remember(c net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.quit:
		return false
	default:
		l.conns[c] = true
		return true
	}
}

func (l *Line) forget(c net.Conn) {
	_ = c.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, c)
}

// carry copies one way until one end closes; then it closes both, once what is
// under way has arrived. It closes ended, if any, when from has ended.
func (l *Line) carry(d direction, to, from net.Conn, ended chan<- struct{}, gone, dead <-chan struct{}) {
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
		for {
			data := make([]byte, room)
			n, err := from.Read(data)
			if n > 0 {
				select {
				case under <- chunk{time.Now().Add(l.delayOf(d)), data[:n]}:
				case <-l.quit:
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
		if !l.sleepUntil(c.due) || !l.pass(d, gone) {
			break
		}
		select {
		case <-dead:
			continue // lost
		default:
		}
		reads++
		if reply, garbled := l.wrong(d, reads); garbled {
			_, _ = io.WriteString(to, reply)
			break
		}
		if _, err := to.Write(c.data); err != nil {
			break
		}
	}
	closeBoth(to, from) // the reader sees the end
	for range under {
		continue // given up
	}
	reader.Wait()
}

func closeBoth(a, b io.Closer) {
	_ = a.Close()
	_ = b.Close()
}

func (l *Line) delayOf(d direction) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if d == replies {
		return 0
	}
	return l.delay
}

func (l *Line) deadFrom() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dead
}

// sleepUntil is false where the line is closed meanwhile.
func (l *Line) sleepUntil(due time.Time) bool {
	timer := time.NewTimer(time.Until(due))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-l.quit:
		return false
	}
}

// pass waits while the direction is held. It is false where the line is closed
// meanwhile, or the client gone.
func (l *Line) pass(d direction, gone <-chan struct{}) bool {
	for {
		l.mu.Lock()
		held := l.held[d]
		l.mu.Unlock()
		if held == nil {
			return true
		}
		select {
		case <-held:
		case <-gone:
			return false
		case <-l.quit:
			return false
		}
	}
}
