package simmaster

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

var (
	// ErrClosed is returned by what needs a master after Close.
	ErrClosed = errors.New("simmaster: master is closed")
	// ErrKilled is returned by Listen between Kill and Restart.
	ErrKilled = errors.New("simmaster: master is killed")
)

// Options of a master. The zero value is ready to use.
type Options struct {
	// Name is the in-memory address, as host:port, by which a Cluster's dialer
	// finds the master. Default: one of its own, such as "sim-1:6379".
	Name string
	// ClockOffset is the initial offset of the master's clock; see SetClockOffset.
	ClockOffset time.Duration
	// Now is the clock that the offset is added to. Default: time.Now. It is
	// called for every command and must not block.
	Now func() time.Time
	// Rand is the source of run ids and histories: 40 bytes for each start, 20 for each
	// NewHistory. It is for runs that must replay exactly. Default: crypto/rand.
	Rand io.Reader
}

// Master is one simulated master, running from New until Kill or Close. All its
// methods may be called concurrently.
type Master struct {
	name string
	rand io.Reader
	gate gate
	wg   sync.WaitGroup // pumps and the accept loop

	// life has one slot, held while the master is started, stopped or frozen. It is a channel
	// and not a mutex, because stopping waits for goroutines.
	life      chan struct{}
	closed    bool         // needs life
	unreserve func() error // gives the port back; nil without Listen; needs life

	clock clock                // needs the gate's slot
	redis *miniredis.Miniredis // needs the gate's slot to be used from outside of commands, and life to be replaced

	mu       sync.Mutex // guards the fields below; locked last, never held while waiting
	run      *run       // nil while killed or closed
	listen   string     // the TCP address, kept for restarts; "" for none
	sessions map[int64]*session
	peers    map[*server.Peer]*session
	commands map[string]int
	refusal  func(cmd string) string

	claim    sync.Mutex // guards claiming, and is held for one write into a buffer
	claiming *session
}

// run is one life of the process: from a start to a kill.
type run struct {
	srv      *server.Server
	id       string    // run_id
	replID   string    // master_replid; guarded by Master.mu
	started  time.Time // by the master's clock
	stopped  chan struct{}
	listener net.Listener // nil unless listening; guarded by Master.mu
	accepted int64        // connections so far, which is also the last client id; guarded by Master.mu
	executed int64        // commands so far; guarded by Master.mu
	lua      *interpreter // needs the gate's slot
}

var unnamed atomic.Int64

// New starts a master that can be dialled in memory. It does not listen on a
// port until Listen. The caller must Close it; in a synctest bubble, inside it.
func New(o Options) (*Master, error) {
	if o.Name == "" {
		o.Name = fmt.Sprintf("sim-%d:6379", unnamed.Add(1))
	}
	if host, port, err := net.SplitHostPort(o.Name); err != nil || host == "" || port == "" {
		return nil, fmt.Errorf("simmaster: Options.Name %q: want host:port", o.Name)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	m := &Master{
		name: o.Name, rand: o.Rand, life: make(chan struct{}, 1), refusal: func(string) string { return "" },
		clock:    clock{now: o.Now, offset: o.ClockOffset},
		sessions: map[int64]*session{}, peers: map[*server.Peer]*session{}, commands: map[string]int{},
	}
	if err := m.start(false); err != nil {
		return nil, err
	}
	return m, nil
}

// start begins a run, without a listener. The caller must hold life, or be New.
func (m *Master) start(keepData bool) error {
	ids := make([]byte, 40)
	if _, err := io.ReadFull(m.rand, ids); err != nil {
		return fmt.Errorf("simmaster: making a run id: %w", err)
	}
	r := &run{id: hex.EncodeToString(ids[:20]), replID: hex.EncodeToString(ids[20:]), stopped: make(chan struct{})}

	m.gate.enterControl()
	defer m.gate.leave()
	if keepData {
		// The last Close has ended this context, by which blocking commands end.
		m.redis.Ctx, m.redis.CtxCancel = context.WithCancel(context.Background())
		m.clock.turn(m.redis)
	} else {
		m.redis = miniredis.NewMiniRedis()
		m.clock.adopt(m.redis)
	}
	// The only way to a server without a listener. The connection is not used.
	conn, err := m.redis.Dial()
	if err != nil {
		return fmt.Errorf("simmaster: starting miniredis: %w", err)
	}
	_ = conn.Close()
	r.srv = m.redis.Server()
	r.lua = newInterpreter(r.srv) // a restarted Redis has no scripts, whatever data it kept
	r.srv.SetPreHook(m.preHook)
	r.started = m.clock.read

	m.mu.Lock()
	defer m.mu.Unlock()
	m.run = r
	return nil
}

// stop ends the run, if there is one, and waits for everything it started. The
// command that is being executed is finished first. The caller must hold life.
func (m *Master) stop() {
	m.mu.Lock()
	r := m.run
	m.run = nil
	if r == nil {
		m.mu.Unlock()
		return
	}
	listener := r.listener
	var sessions []*session
	for _, s := range m.sessions {
		sessions = append(sessions, s)
	}
	m.mu.Unlock()

	close(r.stopped)
	if listener != nil {
		_ = listener.Close()
	}
	for _, s := range sessions {
		s.abort()
	}
	m.gate.thaw() // a killed process is not frozen; nothing is executed, because all sessions are dead
	m.redis.Close()
	m.wg.Wait()
}

// lock takes the life slot. It waits at most for a start, a stop, or the command in execution.
func (m *Master) lock()   { m.life <- struct{}{} }
func (m *Master) unlock() { <-m.life }

// Close stops the master, also a frozen one, and returns when its goroutines have ended, which is
// as soon as the command in execution is finished. It is idempotent. The data can still be
// inspected.
func (m *Master) Close() {
	m.lock()
	defer m.unlock()
	m.stop()
	m.closed = true
	if m.unreserve != nil {
		_ = m.unreserve() // an error of closing a socket without connections does not matter
		m.unreserve = nil
	}
}

// Name returns the in-memory address.
func (m *Master) Name() string { return m.name }

// RunID returns the run_id of INFO: 40 hexadecimal digits, new at every start; ""
// while the master is killed or closed.
func (m *Master) RunID() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.run == nil {
		return ""
	}
	return m.run.id
}

// NewHistory gives the running process another master_replid, and leaves its run_id,
// connections and data as they are. A real master gets another one when it has been a
// replica, and when it gets its first replica. To simulate a resynchronisation, put the data
// of a stale replica in place first. NewHistory takes effect between two commands, on a
// frozen master too. The error is ErrKilled, ErrClosed or one of Options.Rand.
func (m *Master) NewHistory() error {
	m.lock()
	defer m.unlock()
	if m.closed {
		return ErrClosed
	}
	id := make([]byte, 20)
	if _, err := io.ReadFull(m.rand, id); err != nil {
		return fmt.Errorf("simmaster: making a history: %w", err)
	}
	m.gate.enterControl()
	defer m.gate.leave()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.run == nil {
		return ErrKilled
	}
	m.run.replID = hex.EncodeToString(id)
	return nil
}

// Up reports whether the master runs; a frozen one does.
func (m *Master) Up() bool { return m.RunID() != "" }

// Connections returns how many clients are connected.
func (m *Master) Connections() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.sessions)
}
