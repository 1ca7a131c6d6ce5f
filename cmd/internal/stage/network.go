package stage

import (
	"context"
	"net"
	"slices"
	"strings"
	"sync"
)

// A DialFunc is net.Dialer's DialContext, or another one.
type DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error)

// A network is what lies between the clients and the masters: one link a
// master, that can be cut and healed.
type network struct {
	dial      DialFunc
	addresses []string // as the pool dials them
	links     []*link  // as addresses
}

// newNetwork makes a network whose links are whole.
func newNetwork(dial DialFunc, urls []string) *network {
	n := &network{dial: dial}
	for _, u := range urls {
		n.addresses = append(n.addresses, strings.TrimPrefix(u, "redis://"))
		n.links = append(n.links, &link{})
	}
	return n
}

// dialer is for pool.WithDialer. While the link is cut a dial waits, as one
// does whose packets are dropped, at most until ctx ends.
func (n *network) dialer(ctx context.Context, network, addr string) (net.Conn, error) {
	i := slices.Index(n.addresses, addr)
	if i < 0 {
		return n.dial(ctx, network, addr)
	}
	l := n.links[i]
	if !l.passes(ctx.Done()) {
		return nil, &net.OpError{Op: "dial", Net: network, Err: ctx.Err()}
	}
	conn, err := n.dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &cuttable{Conn: conn, link: l, closed: make(chan struct{})}, nil
}

// A link leads to one master.
type link struct {
	mu     sync.Mutex    // guards healed
	healed chan struct{} // nil: whole; closed by heal
}

func (l *link) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.healed == nil {
		l.healed = make(chan struct{})
	}
}

func (l *link) heal() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.healed != nil {
		close(l.healed)
		l.healed = nil
	}
}

// passes waits until the link is whole; false: over came first.
func (l *link) passes(over <-chan struct{}) bool {
	for {
		l.mu.Lock()
		healed := l.healed
		l.mu.Unlock()
		if healed == nil {
			return true
		}
		select {
		case <-healed:
		case <-over:
			return false
		}
	}
}

// A cuttable connection holds back, while its link is cut, what is written and
// what has been received, also that the other side has closed it; what was held
// back goes on when the link is healed, as TCP would send it again.
type cuttable struct {
	net.Conn
	link   *link
	once   sync.Once
	closed chan struct{}
}

func (c *cuttable) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if !c.link.passes(c.closed) {
		return 0, net.ErrClosed
	}
	return n, err
}

func (c *cuttable) Write(p []byte) (int, error) {
	if !c.link.passes(c.closed) {
		return 0, net.ErrClosed
	}
	return c.Conn.Write(p)
}

func (c *cuttable) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// SetLinger is a TCP connection's: the pipeline asks for it.
func (c *cuttable) SetLinger(seconds int) error {
	if tcp, ok := c.Conn.(interface{ SetLinger(int) error }); ok {
		return tcp.SetLinger(seconds)
	}
	return nil
}
