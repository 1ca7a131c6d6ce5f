package faults

import (
	"encoding/json"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

// A register is what the locks of a row protect: a number for each key, which holders
// read and write one higher. It accepts a write with a fencing token only if the token
// is higher than any it has seen for the key, or the same one by the same owner.
// Without tokens it accepts every write.
type register struct {
	listener net.Listener
	serving  sync.WaitGroup

	mu       sync.Mutex // guards what follows
	conns    map[net.Conn]bool
	cells    map[string]*cell
	rejected int
}

type cell struct {
	value  uint64
	writes uint64 // accepted ones
	fence  uint64
	owner  string
}

// A request to the register, and its answer.
type request struct {
	Key   string
	Write bool
	Value uint64
	Fence uint64
	Owner string
}

type answer struct {
	Accepted bool
	Value    uint64
}

func startRegister(t *testing.T) *register {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &register{listener: listener, conns: map[net.Conn]bool{}, cells: map[string]*cell{}}
	r.serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return // closed
			}
			r.serving.Go(func() { r.serve(conn) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		r.mu.Lock()
		for conn := range r.conns {
			_ = conn.Close()
		}
		r.mu.Unlock()
		r.serving.Wait()
	})
	return r
}

func (r *register) serve(conn net.Conn) {
	r.mu.Lock()
	r.conns[conn] = true
	r.mu.Unlock()
	defer func() {
		_ = conn.Close()
		r.mu.Lock()
		delete(r.conns, conn)
		r.mu.Unlock()
	}()
	in, out := json.NewDecoder(conn), json.NewEncoder(conn)
	for {
		var q request
		if in.Decode(&q) != nil || out.Encode(r.handle(q)) != nil {
			return
		}
	}
}

// handle carries out a request. A reader's token counts too: a new holder makes
// its token known before it looks at what the last one wrote.
func (r *register) handle(q request) answer {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.cells[q.Key]
	if c == nil {
		c = &cell{}
		r.cells[q.Key] = c
	}
	if q.Fence != 0 {
		if q.Fence < c.fence || q.Fence == c.fence && q.Owner != c.owner {
			r.rejected++
			return answer{Value: c.value}
		}
		c.fence, c.owner = q.Fence, q.Owner
	}
	if q.Write {
		c.value = q.Value
		c.writes++
	}
	return answer{Accepted: true, Value: c.value}
}

// lost returns how many of the accepted writes are missing in the values.
func (r *register) lost() (lost, writes uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.cells {
		lost += c.writes - c.value
		writes += c.writes
	}
	return lost, writes
}

// A registerConn is a client's connection to the register. A request without an answer counts as
// refused.
type registerConn struct {
	conn net.Conn
	in   *json.Decoder
	out  *json.Encoder
}

func (c *client) openRegister() *registerConn {
	if c.spec.Register == "" {
		return nil
	}
	conn, err := net.DialTimeout("tcp", c.spec.Register, 5*time.Second)
	if err != nil {
		return nil
	}
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	return &registerConn{conn, json.NewDecoder(conn), json.NewEncoder(conn)}
}

func (r *registerConn) close() { _ = r.conn.Close() }

func (r *registerConn) read(key string, l *redlock.Lock) (value uint64, ok bool) {
	a := r.ask(request{Key: key, Fence: l.Fence(), Owner: l.Token()})
	return a.Value, a.Accepted
}

func (r *registerConn) write(key string, l *redlock.Lock, value uint64) (accepted bool) {
	return r.ask(request{Key: key, Write: true, Value: value, Fence: l.Fence(), Owner: l.Token()}).Accepted
}

func (r *registerConn) ask(q request) (a answer) {
	if r.out.Encode(q) != nil || r.in.Decode(&a) != nil {
		return answer{}
	}
	return a
}
