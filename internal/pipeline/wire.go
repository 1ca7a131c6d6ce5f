package pipeline

import (
	"bytes"
	"net"
	"strconv"
	"sync/atomic"
	"time"
)

const (
	firstRead   = 4 << 10   // bytes that one read takes at most, at first
	readAhead   = 64 << 10  // and after reads that were full
	outKept     = 16 << 10  // shrink keeps a write buffer of up to this size
	writeAtOnce = 256 << 10 // a flush above this is written in several pieces
)

// A wire is the net.Conn that redigo works on. It gathers writes until push, so that a flush
// costs one system call (with redigo's own buffer of 4 KiB it cost seven). Reads pass the
// framer first. It ignores deadlines that redigo sets: calls have deadlines, and connections
// have stall detection.
//
// One goroutine may write and push while another reads. abort may come from
// any.
type wire struct {
	net.Conn          // TLS or plain: what is read and written
	raw      net.Conn // the socket below: what is closed

	in     []byte
	full   bool   // the last read has filled it
	unread []byte // the part of the present reply that was not taken yet
	rest   []byte // the bytes behind that reply
	ends   []int  // lengths of the replies that end in what was last read
	next   int    // the first of them that rest still holds
	frame  framer
	silent bool // nothing has been read yet

	out []byte

	// asked is how many commands were written, those of the handshake included. Each is
	// counted before its first byte leaves. A reply that comes before its command was
	// counted belongs to no command: it must not be taken for the reply of the next one.
	asked atomic.Uint64
}

func newWire(raw, conn net.Conn) *wire {
	return &wire{Conn: conn, raw: raw, in: make([]byte, firstRead), silent: true}
}

func (w *wire) Read(p []byte) (int, error) {
	if len(w.unread) == 0 {
		if err := w.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(p, w.unread)
	w.unread = w.unread[n:]
	return n, nil
}

// fill sets unread to what has come of the next reply, or of the rest of this one. It is never
// more than one reply, so that redigo reads nothing ahead.
func (w *wire) fill() error {
	if len(w.rest) == 0 {
		if err := w.take(); err != nil {
			return err
		}
	}
	n := len(w.rest)
	if w.next < len(w.ends) {
		n = w.ends[w.next]
		w.next++
	}
	w.unread, w.rest = w.rest[:n], w.rest[n:]
	return nil
}

// take reads what the kernel has and checks all of it. One bad byte rejects the whole read, also
// the bytes before it.
func (w *wire) take() error {
	if w.full && len(w.in) < readAhead { // its bytes are not needed any more
		w.in = make([]byte, 4*len(w.in))
	}
	n, err := w.Conn.Read(w.in)
	w.full = n == len(w.in)
	if n == 0 {
		return err
	}
	w.silent = false
	asked := w.asked.Load()
	w.rest, w.ends, w.next = w.in[:n], w.ends[:0], 0
	for b := w.rest; len(b) > 0; {
		n, err := w.frame.scan(b)
		if err != nil {
			return err
		}
		if b = b[n:]; w.frame.between() {
			w.ends = append(w.ends, n)
		}
	}
	if w.frame.replies > asked {
		return protocolError("a reply that nobody asked for")
	}
	return nil
}

// arrived returns how many replies ended in the last read, if the reply taken last was the first
// of them; otherwise 0.
func (w *wire) arrived() int {
	if w.next == 1 {
		return len(w.ends)
	}
	return 0
}

// ahead returns how many replies that ended in the last read were not taken yet.
func (w *wire) ahead() int { return len(w.ends) - w.next }

// Replies to locks, boxed once.
var (
	replyOK     any = "OK"
	replyDigits     = [10]any{
		int64(0), int64(1), int64(2), int64(3), int64(4),
		int64(5), int64(6), int64(7), int64(8), int64(9),
	}
)

// await blocks until something of the next reply has been read.
func (w *wire) await() error {
	if len(w.unread) == 0 {
		return w.fill()
	}
	return nil
}

// same takes the next reply if it is exactly this one. It blocks until something
// has been read.
func (w *wire) same(reply string) (bool, error) {
	if err := w.await(); err != nil || string(w.unread) != reply {
		return false, err
	}
	w.unread = nil
	return true, nil
}

// sameText takes the next reply if it is a whole bulk string and same says that it equals other.
// Something of it must have been read.
func (w *wire) sameText(other []byte, same SameText) bool {
	header, rest, _ := bytes.Cut(w.unread, []byte(crlf))
	size, bulk := bytes.CutPrefix(header, []byte("$"))
	text, ended := bytes.CutSuffix(rest, []byte(crlf))
	if n, err := strconv.Atoi(string(size)); !bulk || !ended || err != nil || n != len(text) || !same(other, text) {
		return false
	}
	w.unread = nil
	return true
}

// common takes the next reply if it has a form that locks often get: +OK, nil and one digit, as
// redigo would have parsed them, and three integers, as a ThreeInts in three. Otherwise it leaves
// the reply to redigo. It blocks until something has been read.
func (w *wire) common(three *ThreeInts) (reply any, ok bool, err error) {
	if err := w.await(); err != nil {
		return nil, false, err
	}
	switch b := w.unread; {
	case len(b) == 4 && b[0] == ':' && b[1] >= '0' && b[1] <= '9' && b[3] == '\n':
		reply = replyDigits[b[1]-'0']
	case string(b) == "+OK\r\n":
		reply = replyOK
	case string(b) == "$-1\r\n":
	default:
		if !three.parse(b) {
			return nil, false, nil
		}
		reply = three
	}
	w.unread = nil
	return reply, true, nil
}

// ints appends the integers of the next reply, if it is an array of integers. Otherwise it leaves
// the reply to redigo. It blocks until something has been read.
func (w *wire) ints(dst []int64) ([]int64, bool, error) {
	if err := w.await(); err != nil {
		return dst, false, err
	}
	dst, ok := appendInts(dst, w.unread)
	if ok {
		w.unread = nil
	}
	return dst, ok, nil
}

func (w *wire) Write(p []byte) (int, error) {
	w.gather(p)
	return len(p), nil
}

// gather adds to what the next push will send.
func (w *wire) gather(p []byte) { w.out = append(w.out, p...) }

// gathered returns how many bytes the next push will send.
func (w *wire) gathered() int { return len(w.out) }

// push sends what Write has gathered. It blocks while the peer takes nothing; abort ends that.
func (w *wire) push() error {
	if len(w.out) == 0 {
		return nil
	}
	_, err := w.Conn.Write(w.out)
	w.out = w.out[:0]
	return err
}

// shrink frees the memory that loading scripts has needed. Everything must have been pushed.
func (w *wire) shrink() {
	if cap(w.out) > outKept {
		w.out = nil
	}
}

// Close does nothing. redigo calls it after an error. Its caller gets the error too, keeps it
// as the cause and then aborts. If Close closed the connection before that, the other side
// would fail with a cause of its own.
func (w *wire) Close() error { return nil }

// abort closes the socket and unblocks both sides. The kernel drops what it has not sent yet
// (linger 0): late bytes would be executed after the call was given up (invariant S5). abort
// closes the socket below TLS, because the Close of TLS would try to write first. It may be
// called more than once.
func (w *wire) abort() error {
	if tcp, ok := w.raw.(interface{ SetLinger(int) error }); ok {
		_ = tcp.SetLinger(0)
	}
	return w.raw.Close()
}

// leave closes the socket, and the kernel delivers what was written. It is for the end of
// the pipeline. See abort.
func (w *wire) leave() error { return w.raw.Close() }

func (w *wire) SetDeadline(time.Time) error      { return nil }
func (w *wire) SetReadDeadline(time.Time) error  { return nil }
func (w *wire) SetWriteDeadline(time.Time) error { return nil }
