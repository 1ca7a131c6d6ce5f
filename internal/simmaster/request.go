package simmaster

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Limits of a request. Redis takes more; these bound what a client's mistake
// can make the process allocate.
const (
	maxInline    = 16 << 10 // a line: of an inline request, or a length
	maxArguments = 1 << 20
	maxArgument  = 16 << 20
	maxRequest   = 64 << 20
)

// errProtocol ends a connection whose bytes are no request.
var errProtocol = errors.New("simmaster: malformed request")

// requestReader lets only well-formed, non-empty requests of bounded size through to miniredis,
// whose parser panics on an empty array and allocates whatever a length claims. Inline requests, as
// typed into a terminal, are rewritten as arrays; words are split at blanks, quotes are not
// interpreted. Only one goroutine may use it.
type requestReader struct {
	in    *bufio.Reader
	ready []byte // of the current request: what was not yet handed on
	buf   []byte
}

func newRequestReader(r io.Reader) *requestReader {
	return &requestReader{in: bufio.NewReaderSize(r, maxInline)}
}

// Read hands on bytes of whole requests only.
func (r *requestReader) Read(p []byte) (int, error) {
	for len(r.ready) == 0 {
		if err := r.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, r.ready)
	r.ready = r.ready[n:]
	return n, nil
}

// next reads one request into ready; nothing for an empty one.
func (r *requestReader) next() error {
	line, err := r.line()
	if err != nil {
		return err
	}
	if cap(r.buf) > 1<<20 {
		r.buf = nil // one large request is no reason to keep its memory
	}
	r.buf = r.buf[:0]
	if !strings.HasPrefix(line, "*") {
		r.inline(line)
		return nil
	}
	n, err := length(line[1:], maxArguments)
	if err != nil {
		return err
	}
	if n > 0 {
		r.buf = fmt.Appendf(r.buf, "*%d\r\n", n)
	}
	for range n {
		if err := r.argument(); err != nil {
			return err
		}
	}
	r.ready = r.buf
	return nil
}

// argument copies one bulk string.
func (r *requestReader) argument() error {
	line, err := r.line()
	if err != nil {
		return err
	}
	if !strings.HasPrefix(line, "$") {
		return fmt.Errorf("%w: an argument starts with %.16q instead of $", errProtocol, line)
	}
	n, err := length(line[1:], maxArgument)
	if err != nil {
		return err
	}
	if n < 0 {
		return fmt.Errorf("%w: argument length %d", errProtocol, n)
	}
	r.buf = fmt.Appendf(r.buf, "$%d\r\n", n)
	if len(r.buf)+n+2 > maxRequest {
		return fmt.Errorf("%w: longer than %d bytes", errProtocol, maxRequest)
	}
	// Grown as bytes arrive: a length alone allocates nothing.
	for left := n + 2; left > 0; {
		step := min(left, 64<<10)
		from := len(r.buf)
		r.buf = append(r.buf, make([]byte, step)...)
		if _, err := io.ReadFull(r.in, r.buf[from:]); err != nil {
			return err
		}
		left -= step
	}
	if end := r.buf[len(r.buf)-2:]; end[0] != '\r' || end[1] != '\n' {
		return fmt.Errorf("%w: argument of %d bytes not ended by CRLF", errProtocol, n)
	}
	return nil
}

func (r *requestReader) inline(line string) {
	words := strings.Fields(line)
	if len(words) > 0 {
		r.buf = fmt.Appendf(r.buf, "*%d\r\n", len(words))
	}
	for _, w := range words {
		r.buf = fmt.Appendf(r.buf, "$%d\r\n%s\r\n", len(w), w)
	}
	r.ready = r.buf
}

// line reads up to a line feed and returns it without the line's end.
func (r *requestReader) line() (string, error) {
	b, err := r.in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		return "", fmt.Errorf("%w: line longer than %d bytes", errProtocol, maxInline)
	}
	if err != nil {
		return "", err
	}
	return strings.TrimSuffix(string(b[:len(b)-1]), "\r"), nil
}

func length(s string, limit int) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n > limit {
		return 0, fmt.Errorf("%w: length %.32q, want a number up to %d", errProtocol, s, limit)
	}
	return n, nil
}
