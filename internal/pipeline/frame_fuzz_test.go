package pipeline

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
)

// A pieces connection gives redigo one piece at a time and notes whether it
// asks for more than it has been allowed.
type pieces struct {
	net.Conn // nil: nothing else is called
	now      []byte
	end      error // what comes after now
	beyond   bool  // redigo asked for more
}

func (c *pieces) Read(p []byte) (int, error) {
	if len(c.now) == 0 {
		c.beyond = true
		return 0, c.end
	}
	n := copy(p, c.now)
	c.now = c.now[n:]
	return n, nil
}

func (c *pieces) Close() error                      { return nil }
func (c *pieces) SetReadDeadline(_ time.Time) error { return nil }

// checkAgainstRedigo hands redigo what the framer accepts of b, reply by reply.
func checkAgainstRedigo(t *testing.T, b []byte) {
	t.Helper()
	ends, accepted, err := scanEach(b)
	if err != nil && !errors.Is(err, ErrProtocol) {
		t.Fatalf("error %v does not match ErrProtocol", err)
	}
	if whole := scanAll(new(framer), b); fmt.Sprint(err) != fmt.Sprint(whole) { // reads may split replies anywhere
		t.Fatalf("byte by byte: error %v after %d bytes, whole: %v", err, accepted, whole)
	}

	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	c := &pieces{end: io.EOF}
	rc := redis.NewConn(c, 0, 0)
	from := 0
	for n, to := range ends {
		c.now, from = b[from:to], to
		_, err := rc.Receive()
		if err != nil && !isReply(err) {
			t.Fatalf("reply %d, %q: redigo says %v", n, clip(b[:to]), err)
		}
		if c.beyond || len(c.now) != 0 {
			t.Fatalf("reply %d, %q: redigo wanted more: %t, left over: %q", n, clip(b[:to]), c.beyond, clip(c.now))
		}
	}
	// The rest is the beginning of a reply. redigo must not take it for a whole one.
	c.now = b[from:accepted]
	if reply, err := rc.Receive(); !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatalf("%q after %d replies: redigo reads %v, %v", clip(b[from:accepted]), len(ends), reply, err)
	}
	runtime.ReadMemStats(&after)
	// redigo may allocate what the last reply announces before its bytes come. All else is in
	// proportion to the bytes.
	most := uint64(maxBulk + 16*maxElements + 64<<10 + 64*len(b))
	if used := after.TotalAlloc - before.TotalAlloc; used > most {
		t.Fatalf("redigo allocated %d bytes for %d, want %d at the most", used, len(b), most)
	}
}

// clip shortens what goes into a test's message.
func clip(b []byte) []byte {
	if len(b) > 200 {
		return append(append([]byte(nil), b[:100]...), b[len(b)-100:]...)
	}
	return b
}

func TestRedigoParsesWhatTheFramerAccepts(t *testing.T) {
	for _, reply := range plainReplies {
		t.Run(reply.name, func(t *testing.T) { checkAgainstRedigo(t, []byte(reply.reply+"+OK\r\n")) })
	}
	for _, reply := range hostileReplies {
		t.Run(reply.name, func(t *testing.T) { checkAgainstRedigo(t, []byte("+OK\r\n"+reply.reply)) })
	}
}

func FuzzFrame(f *testing.F) {
	// The long replies have tests above. Here they would slow down the fuzzing.
	for _, reply := range slices.Concat(plainReplies, hostileReplies) {
		if len(reply.reply) < 8<<10 {
			f.Add([]byte(reply.reply), len(reply.reply)/2)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, split int) {
		checkAgainstRedigo(t, b)

		var whole, halves framer
		wholeErr := scanAll(&whole, b)
		at := 0
		if len(b) > 0 {
			at = int(uint(split) % uint(len(b)))
		}
		err := scanAll(&halves, b[:at])
		if err == nil {
			err = scanAll(&halves, b[at:])
		}
		if fmt.Sprint(err) != fmt.Sprint(wholeErr) || err == nil && halves != whole {
			t.Fatalf("split at %d: %v, whole: %v", at, err, wholeErr)
		}
	})
}

// A replyMaker makes replies that a master may give, and the values that redigo must read.
type replyMaker struct {
	r    *rand.Rand
	out  bytes.Buffer
	left int // elements that may still come
	text int // bytes of strings that may still come
}

// reply appends a reply and returns what redigo makes of it.
func (m *replyMaker) reply(depth int) any {
	switch kind := m.r.IntN(7); {
	case kind == 0:
		s := m.line()
		m.out.WriteString("+" + s + "\r\n")
		return s
	case kind == 1:
		s := m.line()
		m.out.WriteString("-" + s + "\r\n")
		return redis.Error(s)
	case kind == 2:
		n := m.r.Int64() >> m.r.IntN(64)
		if m.r.IntN(2) == 0 {
			n = -n
		}
		m.out.WriteString(":" + strconv.FormatInt(n, 10) + "\r\n")
		return n
	case kind == 3:
		m.out.WriteString([]string{"$-1\r\n", "*-1\r\n"}[m.r.IntN(2)])
		return nil
	case kind == 4 || depth == maxDepth:
		b := make([]byte, m.length(5000))
		for i := range b {
			b[i] = byte(m.r.Uint32())
		}
		m.out.WriteString(bulk(string(b)))
		return b
	default:
		n := min(m.r.IntN(5), m.left)
		if m.r.IntN(50) == 0 {
			n = min(m.r.IntN(1000), m.left)
		}
		m.left -= n
		m.out.WriteString("*" + strconv.Itoa(n) + "\r\n")
		all := make([]any, n)
		for i := range all {
			all[i] = m.reply(depth + 1)
		}
		return all
	}
}

func (m *replyMaker) length(most int) int {
	n := min(m.r.IntN(20), m.text)
	if m.r.IntN(30) == 0 {
		n = min(m.r.IntN(most), m.text)
	}
	m.text -= n
	return n
}

// line makes the text of a simple string: any byte but those of a line end.
func (m *replyMaker) line() string {
	b := make([]byte, m.length(10_000))
	for i := range b {
		for {
			if b[i] = byte(m.r.Uint32()); b[i] != '\r' && b[i] != '\n' {
				break
			}
		}
	}
	return string(b)
}

func checkGenerated(t *testing.T, seed uint64) {
	t.Helper()
	m := &replyMaker{r: rand.New(rand.NewPCG(seed, 1))}
	var want []any
	for range 1 + m.r.IntN(5) {
		m.left, m.text = maxElements, maxBulk
		want = append(want, m.reply(0))
	}
	var f framer
	// In reads of several sizes, as from a socket.
	for rest := m.out.Bytes(); len(rest) > 0; {
		n := min(1+m.r.IntN(1+m.r.IntN(3000)), len(rest))
		if err := scanAll(&f, rest[:n]); err != nil {
			t.Fatalf("seed %d: refused: %v\n%q", seed, err, clip(m.out.Bytes()))
		}
		rest = rest[n:]
	}
	if !f.between() {
		t.Fatalf("seed %d: the last reply is not over", seed)
	}
	rc := redis.NewConn(&pieces{now: m.out.Bytes(), end: io.EOF}, 0, 0)
	for i, want := range want {
		got, err := rc.Receive()
		if isReply(err) {
			got = err
		} else if err != nil {
			t.Fatalf("seed %d: reply %d: %v", seed, i, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d: reply %d: %v, want %v", seed, i, got, want)
		}
	}
}

func TestWhateverAMasterMayAnswerIsAccepted(t *testing.T) {
	for seed := range uint64(1000) {
		checkGenerated(t, seed)
	}
}

func FuzzReplies(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(seed)
	}
	f.Fuzz(checkGenerated)
}
