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
	offset time.Duration // of the clock; the fault's alone

	mu     sync.Mutex      // guards loaded; a leaf
	loaded map[string]bool // scripts that the process has
}

// load reports whether the process had the script already, and notes that it
// has.
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

// A network is all connections, and what is wrong with them.
type network struct {
	*lanes
	trace *trace
	seed  uint64
	p     *Profile
	nodes []*node

	mu      sync.Mutex // guards what follows; a leaf
	calm    bool       // no more faults
	conns   map[[2]int]uint64
	slots   map[[3]int]bool // that connections have: client, master, slot
	links   []*link
	blocked map[path]bool
	refused map[[2]int]bool // connections of a client to a master
	paused  map[int]bool    // clients that are stopped
	frozen  map[int]bool    // masters that are
	late    time.Duration   // by how much all replies are
	refuse  map[int]bool    // masters that refuse what writes
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

// holds reports whether nothing gets through at the moment.
func (n *network) holds(client, master int, dir direction) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.paused[client] || n.blocked[path{client, master, dir}] || n.frozen[master] && dir == up
}

// change changes what is blocked, and lets go what is not any more.
func (n *network) change(f func()) {
	n.mu.Lock()
	f()
	links := slices.Clone(n.links)
	n.mu.Unlock()
	for _, l := range links {
		l.resume()
	}
}

// block stops paths, or lets go what they have held up.
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

// latency is the time that one delivery takes. What begins a connection, some
// twenty commands, is never slow, or there would hardly be any.
func (n *network) latency(d *dice, greets bool) time.Duration {
	if !greets && d.one(n.p.SlowOneIn) && !n.isCalm() {
		return d.between(n.p.SlowLeast, n.p.SlowMost)
	}
	return d.between(50*time.Microsecond, n.p.Latency)
}

// dialer is a client's way to the masters.
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

// takeSlot finds lanes for a connection. It takes them in turn, since messages of those
// before may still be on their way. It takes none of an open connection: when the
// master is killed, both would end at the same instant. The caller must hold mu.
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
