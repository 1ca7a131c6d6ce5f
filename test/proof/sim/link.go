package sim

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/redquorum/redquorum/internal/chance"
	"github.com/redquorum/redquorum/internal/pipeline"
)

// A link is the client's end of one connection. It splits what the client writes into commands,
// and what the master answers into replies. Each arrives in order at an instant of its own, or
// not at all.
type link struct {
	net    *network
	client int
	node   *node
	number uint64 // counts the connections of this client to this node
	slot   int    // its lanes
	upward string // names in the trace
	downwd string
	srv    net.Conn

	// mu guards what follows. Nothing blocks under it.
	mu       sync.Mutex
	ways     [2]way
	partial  []byte // the beginning of a command
	commands uint64
	replies  uint64
	hearing  uint64        // replies that have arrived at the client
	greeting uint64        // how many commands at the start only begin the connection
	asked    []string      // names of unanswered commands, if the trace is verbose
	in       bytes.Buffer  // bytes that have arrived at the client
	changed  chan struct{} // closed by wake; nil unless Read waits
	reset    bool          // the client's end was reset
	closed   bool          // the client has closed it
	resets   bool          // Close drops commands under way
	muted    bool          // replies are dropped
	// interrupted: the deadline of Read has passed.
	interrupted bool
	severed     bool // the master's end is closed
}

// A way is one direction: the queue of items under way, and how many of them are due but blocked.
type way struct {
	lane  int
	items []item
	held  int
}

// An item is a command or a reply under way, or the end of the connection.
type item struct {
	data []byte
	fate fate
	ends bool
	lost bool
}

// A fate is what happens to a command.
type fate uint8

const (
	arrives   fate = iota
	cutBefore      // the connection breaks before it arrives
	cutHalf        // half of its bytes arrive, then the connection breaks
	cutAfter       // it is executed, the reply is lost with the connection
	twice          // it is executed once more later on
)

func (f fate) String() string {
	return [...]string{
		"arrives", "connection cut before", "connection cut within", "connection cut behind", "comes twice",
	}[f]
}

func newLink(n *network, client int, to *node, number uint64, slot int, srv net.Conn) *link {
	l := &link{
		net: n, client: client, node: to, number: number, slot: slot, srv: srv,
		upward: fmt.Sprintf("c%d→m%d.%d", client, to.index, number),
		downwd: fmt.Sprintf("c%d←m%d.%d", client, to.index, number),
	}
	for dir := range l.ways {
		l.ways[dir].lane = n.linkLane(client, to.index, slot, dir)
	}
	return l
}

// send makes an item arrive after delay.
func (l *link) send(dir direction, it item, delay time.Duration) {
	l.mu.Lock()
	l.ways[dir].items = append(l.ways[dir].items, it)
	l.mu.Unlock()
	l.net.after(l.ways[dir].lane, delay, func() { l.tick(dir) })
}

// tick delivers the first item, unless the direction is blocked. Each item causes one tick.
func (l *link) tick(dir direction) {
	if l.net.holds(l.client, l.node.index, dir) {
		l.mu.Lock()
		l.ways[dir].held++
		l.mu.Unlock()
		return
	}
	l.mu.Lock()
	it := l.ways[dir].items[0]
	l.ways[dir].items = slices.Delete(l.ways[dir].items, 0, 1)
	l.mu.Unlock()
	if dir == up {
		l.atMaster(it)
	} else {
		l.atClient(it)
	}
}

// resume delivers what was held up in directions that are open again.
func (l *link) resume() {
	for dir := range direction(2) {
		if l.net.holds(l.client, l.node.index, dir) {
			continue
		}
		l.mu.Lock()
		held := l.ways[dir].held
		l.ways[dir].held = 0
		l.mu.Unlock()
		for range held {
			l.net.after(l.ways[dir].lane, time.Microsecond, func() { l.tick(dir) })
		}
	}
}

// atMaster handles a command that arrives.
func (l *link) atMaster(it item) {
	l.mu.Lock()
	over := l.severed
	l.severed = over || it.ends
	l.mu.Unlock()
	switch {
	case over || it.lost:
		return
	case it.ends:
		l.hangUp()
		return
	}
	data := it.data
	if greets(verbOf(data)) {
		if w := words(data); w[0] == "SCRIPT" && len(w) == 3 && l.node.load(w[2]) {
			data = pipeline.AppendCommand(nil, "PING") // the script is loaded, and PING is cheaper
		}
	}
	if l.net.refuses(l.node.index, nameOf(data)) {
		l.net.count(func(s *Stats) { s.Refusals++ })
		data = pipeline.AppendCommand(nil, "EVAL", "return redis.error_reply(ARGV[1])", 0,
			"NOREPLICAS Not enough good replicas to write.")
	}
	l.net.trace.data(l.upward, commandText, it.data)
	if keys, _ := batchCalls(words(data)); len(keys) > 0 {
		l.net.count(func(s *Stats) { s.Joined += len(keys) })
	}
	switch it.fate {
	case cutBefore, cutHalf, cutAfter:
		l.net.trace.note(l.upward, it.fate.String())
		l.net.count(func(s *Stats) { s.Cuts++ })
		l.mu.Lock()
		l.muted, l.severed = true, true
		l.mu.Unlock()
		if it.fate == cutHalf {
			_, _ = l.srv.Write(data[:len(data)/2])
		} else if it.fate == cutAfter {
			_, _ = l.srv.Write(data)
		}
		// The master notices the break a little later.
		l.net.after(l.ways[up].lane, 10*time.Microsecond, l.hangUp)
		d := roll(l.net.seed, chance.HashText("cut"), chance.HashText(l.upward))
		l.send(down, item{ends: true}, l.net.latency(d, false))
		return
	case twice:
		l.haunt(data)
	}
	_, _ = l.srv.Write(data)
}

// haunt delivers a command again later, on another connection. That connection ends with the
// master's process, as any does.
func (l *link) haunt(data []byte) {
	ghost, err := l.node.master.Dial(background)
	if err != nil {
		return
	}
	go func() { _, _ = io.Copy(io.Discard, ghost) }()
	n := l.net
	n.count(func(s *Stats) { s.Twice++ })
	d := roll(n.seed, chance.HashText("ghost"), chance.HashText(l.upward), uint64(n.now()))
	lane := n.linkLane(l.client, l.node.index, l.slot, int(ghosts))
	n.after(lane, d.between(time.Microsecond, n.p.TwiceWithin), func() {
		n.trace.data(l.upward+" again", commandText, data)
		_, _ = ghost.Write(data)
		n.after(lane, time.Millisecond, func() { _ = ghost.Close() })
	})
}

// hangUp closes the master's end, with a reset if it has one.
func (l *link) hangUp() {
	if c, ok := l.srv.(interface{ SetLinger(int) error }); ok {
		_ = c.SetLinger(0)
	}
	_ = l.srv.Close()
}

// atClient handles a reply that arrives.
func (l *link) atClient(it item) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.reset {
		return
	}
	if it.ends {
		l.reset = true
		l.net.trace.note(l.downwd, "is reset")
	} else {
		// The reply to INFO has the number of the process, which differs between runs.
		to := l.answered(it.data)
		if l.hearing++; l.hearing > l.greeting && !bytes.Contains(it.data, []byte("process_id:")) {
			l.net.trace.data(l.downwd, func(b []byte) string { return to + ": " + replyText(b) }, it.data)
		}
		l.in.Write(it.data)
	}
	l.wake()
}

// answered names the command that a reply belongs to. The caller must hold mu.
func (l *link) answered(reply []byte) string {
	if len(l.asked) == 0 || bytes.HasPrefix(reply, []byte("*3\r\n$7\r\nmessage\r\n")) {
		return "unasked"
	}
	name := l.asked[0]
	l.asked = l.asked[1:]
	return "to " + name
}

// wake lets Read look again. The caller must hold mu.
func (l *link) wake() {
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}

// read is the goroutine that takes what the master answers. It ends when the master's end closes.
func (l *link) read() {
	buf := make([]byte, 4096)
	var pending []byte
	for {
		n, err := l.srv.Read(buf)
		pending = append(pending, buf[:n]...)
		for {
			k := frame(pending)
			if k == 0 {
				break
			}
			l.answer(pending[:k])
			pending = pending[k:]
		}
		if err != nil {
			l.mu.Lock()
			wasSevered := l.severed
			l.severed = true
			l.mu.Unlock()
			if !wasSevered {
				l.send(down, item{ends: true}, 100*time.Microsecond)
			}
			return
		}
	}
}

// answer sends a reply on its way to the client.
func (l *link) answer(reply []byte) {
	l.mu.Lock()
	n, muted, greets := l.replies, l.muted, l.replies < l.greeting
	l.replies++
	l.mu.Unlock()
	if muted {
		return
	}
	d := roll(l.net.seed, chance.HashText("down"), uint64(l.client), uint64(l.node.index), l.number, n)
	l.send(down, item{data: bytes.Clone(reply)}, l.net.latency(d, greets)+l.net.lateness())
}
