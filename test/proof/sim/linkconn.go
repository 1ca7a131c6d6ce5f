package sim

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/redquorum/redquorum/internal/chance"
)

// The methods below make the client's end of a link a net.Conn.

// Read implements net.Conn.
func (l *link) Read(p []byte) (int, error) {
	for {
		l.mu.Lock()
		switch {
		case l.closed:
			l.mu.Unlock()
			return 0, l.wrap("read", net.ErrClosed)
		case l.in.Len() > 0:
			n, err := l.in.Read(p)
			l.mu.Unlock()
			return n, err
		case l.reset:
			l.mu.Unlock()
			return 0, l.wrap("read", syscall.ECONNRESET)
		case l.interrupted:
			l.mu.Unlock()
			return 0, l.wrap("read", os.ErrDeadlineExceeded)
		}
		if l.changed == nil {
			l.changed = make(chan struct{})
		}
		changed := l.changed
		l.mu.Unlock()
		<-changed
	}
}

// Write implements net.Conn. It never blocks.
func (l *link) Write(p []byte) (int, error) {
	l.mu.Lock()
	if l.closed || l.reset {
		l.mu.Unlock()
		return 0, l.wrap("write", syscall.EPIPE)
	}
	l.partial = append(l.partial, p...)
	var commands [][]byte
	for {
		k := frame(l.partial)
		if k == 0 {
			break
		}
		c := bytes.Clone(l.partial[:k])
		if l.greeting == l.commands+uint64(len(commands)) && greets(verbOf(c)) {
			l.greeting++
		}
		commands = append(commands, c)
		if l.net.trace.verbose {
			l.asked = append(l.asked, nameOf(c))
		}
		l.partial = l.partial[k:]
	}
	first := l.commands
	l.commands += uint64(len(commands))
	l.mu.Unlock()
	for i, c := range commands {
		d := roll(l.net.seed, chance.HashText("up"), uint64(l.client), uint64(l.node.index), l.number, first+uint64(i))
		delay := l.net.latency(d, greets(verbOf(c)))
		l.send(up, item{data: c, fate: l.net.fateOf(d, c)}, delay)
	}
	return len(p), nil
}

// Close implements net.Conn. After SetLinger(0) it resets the connection: commands under way
// are lost, except that once in a while they still arrive. Otherwise all of them arrive.
func (l *link) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	l.closed = true
	l.net.trace.note(l.upward, "is closed by the client")
	d := roll(l.net.seed, chance.HashText("close"), chance.HashText(l.upward))
	if l.resets && !d.one(l.net.p.StraggleOneIn) {
		for i := range l.ways[up].items {
			l.ways[up].items[i].lost = true
		}
	}
	l.wake()
	l.mu.Unlock()
	l.net.freeSlot(l.client, l.node.index, l.slot)
	l.send(up, item{ends: true}, l.net.latency(d, false))
	return nil
}

func (l *link) wrap(op string, err error) error {
	return &net.OpError{Op: op, Net: "sim", Err: err}
}

type simAddr string

func (simAddr) Network() string  { return "sim" }
func (a simAddr) String() string { return string(a) }

// SetReadDeadline ends a Read only if the deadline has passed already: the library sets no other.
func (l *link) SetReadDeadline(t time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.interrupted = !t.IsZero() && !t.After(time.Now())
	l.wake()
	return nil
}

// LocalAddr and the methods below complete net.Conn.

func (l *link) LocalAddr() net.Addr              { return simAddr(fmt.Sprintf("c%d", l.client)) }
func (l *link) RemoteAddr() net.Addr             { return simAddr(l.node.master.Name()) }
func (l *link) SetDeadline(t time.Time) error    { return l.SetReadDeadline(t) } // Write never blocks
func (l *link) SetWriteDeadline(time.Time) error { return nil }

// SetLinger works as for TCP: with 0, Close resets the connection.
func (l *link) SetLinger(seconds int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.resets = seconds == 0
	return nil
}
