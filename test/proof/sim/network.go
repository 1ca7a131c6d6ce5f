package sim

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/redquorum/redquorum/internal/chance"
	"github.com/redquorum/redquorum/internal/simmaster"
)

// A node is a master.
type node struct {
	index  int
	master *simmaster.Master
	clock  *clock
	offset time.Duration // of the clock; only faults change it

	mu     sync.Mutex      // guards loaded; a leaf
	loaded map[string]bool // scripts that the process has
}

// load reports whether the process has the script already, and notes that it has it now.
func (n *node) load(source string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	had := n.loaded[source]
	n.loaded[source] = true
	return had
}

func (n *node) forgetScripts() {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.loaded)
}

// direction is that of bytes: up to the master or down to the client.
type direction uint8

const (
	up direction = iota
	down
	ghosts // the lane of what is delivered twice
)

// A network has all connections, and the faults that affect them.
type network struct {
	*lanes
	trace *trace
	seed  uint64
	p     *Profile
	nodes []*node

	mu      sync.Mutex // guards what follows; a leaf
	calm    bool       // no more faults
	conns   map[[2]int]uint64
	slots   map[[3]int]bool // in use: client, master, slot
	links   []*link
	blocked map[path]bool
	refused map[[2]int]bool // connections of a client to a master
	paused  map[int]bool    // clients that are stopped
	frozen  map[int]bool    // masters that are stopped
	late    time.Duration   // the extra delay of all replies
	refuse  map[int]bool    // masters that refuse writes
	stats   Stats
}

// A path is one direction between a client and a master.
type path struct {
	client, master int
	dir            direction
}

func newNetwork(l *lanes, t *trace, seed uint64, p *Profile, nodes []*node) *network {
	return &network{
		lanes: l, trace: t, seed: seed, p: p, nodes: nodes,
		conns: make(map[[2]int]uint64), slots: make(map[[3]int]bool), blocked: make(map[path]bool),
		refused: make(map[[2]int]bool), refuse: make(map[int]bool),
		paused: make(map[int]bool), frozen: make(map[int]bool),
	}
}

// holds reports whether nothing gets through in this direction now.
func (n *network) holds(client, master int, dir direction) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.paused[client] || n.blocked[path{client, master, dir}] || n.frozen[master] && dir == up
}

// change lets f change what is blocked, and delivers what is no longer blocked.
func (n *network) change(f func()) {
	n.mu.Lock()
	f()
	links := slices.Clone(n.links)
	n.mu.Unlock()
	for _, l := range links {
		l.resume()
	}
}

// block stops paths, or opens them and delivers what they held up.
func (n *network) block(paths []path, blocked bool) {
	n.change(func() {
		if blocked {
			n.stats.Blocked++
		}
		for _, p := range paths {
			n.blocked[p] = blocked
		}
	})
}

func (n *network) setCalm() {
	n.change(func() {
		n.calm = true
		clear(n.blocked)
		clear(n.refused)
		clear(n.paused)
		clear(n.frozen)
		clear(n.refuse)
		n.late = 0
	})
}

func (n *network) isCalm() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.calm
}

func (n *network) count(f func(*Stats)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	f(&n.stats)
}

// latency returns how long one delivery takes. The twenty or so commands that begin a
// connection are never slow, or hardly any connection would be made.
func (n *network) latency(d *dice, greets bool) time.Duration {
	if !greets && d.one(n.p.SlowOneIn) && !n.isCalm() {
		return d.between(n.p.SlowLeast, n.p.SlowMost)
	}
	return d.between(50*time.Microsecond, n.p.Latency)
}

// dialer returns the function with which a client connects to masters.
func (n *network) dialer(client int) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, _, addr string) (net.Conn, error) {
		for _, node := range n.nodes {
			if node.master.Name() == addr {
				return n.dial(ctx, client, node)
			}
		}
		return nil, fmt.Errorf("no master at %s", addr)
	}
}

func (n *network) dial(ctx context.Context, client int, to *node) (net.Conn, error) {
	pair := [2]int{client, to.index}
	n.mu.Lock()
	number := n.conns[pair]
	n.conns[pair]++
	slot := n.takeSlot(pair, number)
	n.mu.Unlock()
	open := false
	defer func() {
		if !open {
			n.freeSlot(client, to.index, slot)
		}
	}()
	d := roll(n.seed, chance.HashText("dial"), uint64(client), uint64(to.index), number)
	t := time.NewTimer(n.at(n.linkLane(client, to.index, slot, int(up)), 2*n.latency(d, true)) - n.now())
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if n.holds(client, to.index, up) && !n.isFrozen(to.index) || n.holds(client, to.index, down) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if err := n.refusal(client, to.index); err != nil {
		return nil, err
	}
	srv, err := to.master.Dial(ctx)
	if err != nil {
		n.trace.note(fmt.Sprintf("c%d", client), fmt.Sprintf("cannot connect to m%d", to.index))
		return nil, syscall.ECONNREFUSED
	}
	l := newLink(n, client, to, number, slot, srv)
	open = true
	n.mu.Lock()
	n.links = append(n.links, l)
	n.stats.Connections++
	n.mu.Unlock()
	n.trace.note(l.upward, "is connected")
	go l.read()
	return l, nil
}

// takeSlot finds lanes for a connection. It takes slots in turn, because messages of earlier
// connections may still be under way. It takes no slot of an open connection: if the master is
// killed, both would end at one instant. The caller must hold mu.
func (n *network) takeSlot(pair [2]int, number uint64) int {
	for i := range uint64(maxSlots) {
		slot := int((number + i) % maxSlots)
		if at := [3]int{pair[0], pair[1], slot}; !n.slots[at] {
			n.slots[at] = true
			return slot
		}
	}
	panic(fmt.Sprintf("client %d has %d connections to master %d", pair[0], maxSlots, pair[1]))
}

func (n *network) freeSlot(client, master, slot int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.slots, [3]int{client, master, slot})
}

func (n *network) isFrozen(master int) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.frozen[master]
}
