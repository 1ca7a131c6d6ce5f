package bench

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/url"
	"runtime"
	"sync"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/rs/xid"
)

// A pipelinedPeer is only Redlock on redigo connections that all callers share. It has no
// guard, no clock that counts suspension, no stall detection and no limits for replies. It
// does not redial, renew, or keep a release for a master that is away. The design of this
// library began there. Compared with it, the library's safety must cost nothing.
type pipelinedPeer struct{ masters []*pipelinedMaster }

func openPipelined(urls []string) (peer, error) {
	p := &pipelinedPeer{}
	for _, u := range urls {
		parsed, err := url.Parse(u)
		if err != nil {
			return nil, err
		}
		m, err := dialPipelined(parsed.Host)
		if err != nil {
			_ = p.close()
			return nil, err
		}
		p.masters = append(p.masters, m)
	}
	return p, nil
}

func (p *pipelinedPeer) connect(context.Context, int) error { return nil }

func (p *pipelinedPeer) worker(key string) worker { return &pipelinedWorker{peer: p, key: key} }

func (p *pipelinedPeer) close() error {
	var errs []error
	for _, m := range p.masters {
		errs = append(errs, m.close())
	}
	return errors.Join(errs...)
}

// pipelinedRelease deletes the key if the value is ours.
var pipelinedRelease = redis.NewScript(1,
	"if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0")

// A pipelinedMaster is one connection. Callers queue commands, a writer sends the whole
// queue with one flush, and a reader takes the replies in order.
type pipelinedMaster struct {
	wire   *coalescing
	conn   redis.Conn
	sent   chan []*pipelinedCall
	ended  sync.WaitGroup
	mu     sync.Mutex
	work   *sync.Cond
	queue  []*pipelinedCall
	closed bool
}

type pipelinedCall struct {
	round *pipelinedRound
	cmd   string
	args  []any
}

func dialPipelined(addr string) (*pipelinedMaster, error) {
	raw, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	wire := &coalescing{Conn: raw, in: bufio.NewReaderSize(raw, 64<<10)}
	m := &pipelinedMaster{wire: wire, conn: redis.NewConn(wire, 0, 0), sent: make(chan []*pipelinedCall, 4096)}
	m.work = sync.NewCond(&m.mu)
	wire.direct = true
	if err := pipelinedRelease.Load(m.conn); err != nil {
		return nil, errors.Join(err, raw.Close())
	}
	wire.direct = false
	m.ended.Go(m.write)
	m.ended.Go(m.read)
	return m, nil
}

func (m *pipelinedMaster) enqueue(c *pipelinedCall) {
	m.mu.Lock()
	m.queue = append(m.queue, c)
	if len(m.queue) == 1 {
		m.work.Signal()
	}
	m.mu.Unlock()
}

func (m *pipelinedMaster) write() {
	defer close(m.sent)
	for {
		m.mu.Lock()
		for len(m.queue) == 0 && !m.closed {
			m.work.Wait()
		}
		m.mu.Unlock()
		runtime.Gosched() // lets the batch grow
		m.mu.Lock()
		batch := m.queue
		m.queue = nil
		closed := m.closed
		m.mu.Unlock()
		if closed {
			return
		}
		for _, c := range batch {
			_ = m.conn.Send(c.cmd, c.args...)
		}
		_ = m.conn.Flush()
		m.sent <- batch
		_ = m.wire.push() // what fails here fails the reader too
	}
}

func (m *pipelinedMaster) read() {
	for batch := range m.sent {
		for _, c := range batch {
			reply, err := m.conn.Receive()
			c.round.answered(err == nil && (reply == "OK" || reply == int64(1)))
		}
	}
}

func (m *pipelinedMaster) close() error {
	m.mu.Lock()
	m.closed = true
	m.work.Signal()
	m.mu.Unlock()
	err := m.wire.Conn.Close()
	m.ended.Wait()
	return err
}

// coalescing sends a batch in one write; redigo's buffer would make several.
type coalescing struct {
	net.Conn
	in     *bufio.Reader
	out    []byte
	direct bool
}

func (c *coalescing) Read(p []byte) (int, error) { return c.in.Read(p) }

func (c *coalescing) Write(p []byte) (int, error) {
	if c.direct {
		return c.Conn.Write(p)
	}
	c.out = append(c.out, p...)
	return len(p), nil
}

func (c *coalescing) push() error {
	_, err := c.Conn.Write(c.out)
	c.out = c.out[:0]
	return err
}

// A pipelinedRound is decided when a quorum has agreed, or when none is possible any more.
type pipelinedRound struct {
	mu         sync.Mutex
	ok, failed int
	total      int
	decided    chan bool
}

func (r *pipelinedRound) answered(ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	need := r.total/2 + 1
	if ok {
		if r.ok++; r.ok == need {
			r.decided <- true
		}
		return
	}
	if r.failed++; r.failed == r.total-need+1 {
		r.decided <- false
	}
}

// ask sends a command to all masters and reports whether a quorum agreed in time.
func (p *pipelinedPeer) ask(ctx context.Context, cmd string, args ...any) bool {
	r := &pipelinedRound{total: len(p.masters), decided: make(chan bool, 2)}
	c := &pipelinedCall{round: r, cmd: cmd, args: args}
	for _, m := range p.masters {
		m.enqueue(c)
	}
	t := time.NewTimer(ttl / 20)
	defer t.Stop()
	select {
	case agreed := <-r.decided:
		return agreed
	case <-t.C:
	case <-ctx.Done():
	}
	return false
}

type pipelinedWorker struct {
	peer  *pipelinedPeer
	key   string
	value string
}

var errPipelinedTaken = errors.New("taken")

func (w *pipelinedWorker) lock(ctx context.Context) error {
	var random [8]byte
	_, _ = rand.Read(random[:])
	w.value = xid.New().String() + hex.EncodeToString(random[:])
	start := time.Now()
	agreed := w.peer.ask(ctx, "SET", w.key, w.value, "NX", "PX", ttl.Milliseconds())
	if drift := ttl/100 + 2*time.Millisecond; agreed && time.Since(start) < ttl-drift {
		return nil
	}
	w.peer.release(ctx, w.key, w.value)
	return errPipelinedTaken
}

func (w *pipelinedWorker) unlock(ctx context.Context) error {
	if !w.peer.release(ctx, w.key, w.value) {
		return fmt.Errorf("release of %q not confirmed", w.key)
	}
	return nil
}

func (p *pipelinedPeer) release(ctx context.Context, key, value string) bool {
	return p.ask(ctx, "EVALSHA", pipelinedRelease.Hash(), 1, key, value)
}
