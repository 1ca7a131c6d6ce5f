package pipeline

import (
	"net"
	"sync/atomic"
	"time"
)

const (
	readAhead  = 64 << 10  // one read takes what the kernel has, up to this
	writeBatch = 256 << 10 // a batch above this is written in several pieces
)

// A wire is the net.Conn that redigo works on. Writes are gathered until push,
// so that a batch costs one system call (redigo's own buffer is 4 KiB and made
// seven of one); reads pass the framer first. Deadlines that redigo sets are
// ignored: calls have deadlines, connections have stall detection.
//
// One goroutine may write and push while another reads. abort may come from
// any.
type wire struct {
	net.Conn          // TLS or plain: what is read and written
	raw      net.Conn // the socket below: what is closed

	in     []byte
	unread []byte // the part of in that redigo has not taken yet
	frame  framer
	silent bool // nothing has been read yet

	out []byte

	// asked is how many commands have been written, the handshake's too: each
	// is counted before its first byte leaves. A reply that is read before its
	// command was counted is nobody's, and must not be taken for the reply of
	// the command that is written next.
	asked atomic.Uint64
}

func newWire(raw, conn net.Conn) *wire {
	return &wire{Conn: conn, raw: raw, in: make([]byte, readAhead), silent: true}
}

func (w *wire) Read(p []byte) (int, error) {
	if len(w.unread) == 0 {
		n, err := w.Conn.Read(w.in)
		if n == 0 {
			return 0, err
		}
		w.silent = false
		asked := w.asked.Load()
		if err := w.frame.scan(w.in[:n]); err != nil {
			return 0, err
		}
		if w.frame.replies > asked {
			return 0, protocolError("a reply that nobody asked for")
		}
		w.unread = w.in[:n]
	}
	n := copy(p, w.unread)
	w.unread = w.unread[n:]
	return n, nil
}

func (w *wire) Write(p []byte) (int, error) {
	w.out = append(w.out, p...)
	return len(p), nil
}

// gathered is how many bytes the next push will send.
func (w *wire) gathered() int { return len(w.out) }

// push sends what Write has gathered. It blocks while the peer takes nothing;
// abort ends that.
func (w *wire) push() error {
	if len(w.out) == 0 {
		return nil
	}
	_, err := w.Conn.Write(w.out)
	w.out = w.out[:0]
	return err
}

// Close is redigo's, after an error, and does nothing: who called redigo gets
// the error too and aborts, once it has kept the error as the cause. Closed
// before that, the other side would fail with a cause of its own.
func (w *wire) Close() error { return nil }

// abort closes the socket, unblocks both sides, and has the kernel drop what
// it has not sent yet (linger 0): late bytes would execute after the call was
// given up (invariant S5). The socket is closed below TLS, whose own Close
// would try to write first. It may be called more than once.
func (w *wire) abort() error {
	if tcp, ok := w.raw.(interface{ SetLinger(int) error }); ok {
		_ = tcp.SetLinger(0)
	}
	return w.raw.Close()
}

func (w *wire) SetDeadline(time.Time) error      { return nil }
func (w *wire) SetReadDeadline(time.Time) error  { return nil }
func (w *wire) SetWriteDeadline(time.Time) error { return nil }
