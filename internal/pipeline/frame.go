package pipeline

import "fmt"

// Limits of one whole reply. A lock's replies have tens of bytes, and INFO has some
// kilobytes. A server that announces more is broken or hostile.
const (
	maxBulk     = 1 << 20  // bytes of strings of all kinds in one reply
	maxElements = 4096     // elements of all arrays of one reply
	maxDepth    = 8        // arrays within arrays
	maxLine     = 64 << 10 // bytes of a simple string, an error or a header
)

// A framer checks the bytes of a RESP2 stream, and rejects those that redigo must not
// see. redigo v1.9.3 allocates memory for an announced length before the bytes have come;
// its lengths overflow (18446744073709551615 becomes -1, a nil reply); it panics on other
// negative lengths; and it recurses without bound. redigo gets bytes only after the framer
// has accepted them, so it never reads the end of a bad header.
//
// The zero value is ready for the first reply.
type framer struct {
	state frameState
	kind  byte // type byte of the header being read

	line   int // bytes read of the line
	digits int
	minus  bool
	number uint64

	payload int // bytes of the bulk string still to come

	replies  uint64        // replies that have begun
	depth    int           // open arrays
	open     [maxDepth]int // elements still to come, for each open array
	elements int           // elements of this reply
	bulk     int           // bytes of all strings of this reply, errors included
}

type frameState uint8

const (
	atType    frameState = iota // the next byte is a type byte
	inText                      // in a simple string or an error
	inNumber                    // in an integer or a length
	atLF                        // after the CR of a line
	inPayload                   // in the bytes of a bulk string
	atBulkCR                    // after these bytes
	atBulkLF
)

// Redis writes numbers as an int64.
const (
	maxDigits = 19
	maxInt64  = 1<<63 - 1
)

// scan checks the next bytes of the stream, up to the end of the present reply, and
// returns how many bytes it checked. After an error the stream must not be used any more.
func (f *framer) scan(b []byte) (int, error) {
	for i := 0; i < len(b); i++ {
		c := b[i]
		switch f.state {
		case atType:
			if err := f.begin(c); err != nil {
				return i, err
			}
		case inText:
			if err := f.text(c); err != nil {
				return i, err
			}
		case inNumber:
			if err := f.digit(c); err != nil {
				return i, err
			}
		case atLF:
			if c != '\n' {
				return i, protocolError("byte %#x after the carriage return of a line", c)
			}
			if err := f.endLine(); err != nil {
				return i, err
			}
			if f.between() {
				return i + 1, nil
			}
		case inPayload:
			n := min(f.payload, len(b)-i)
			f.payload -= n
			i += n - 1
			if f.payload == 0 {
				f.state = atBulkCR
			}
		case atBulkCR:
			if c != '\r' {
				return i, protocolError("byte %#x where a bulk string ends", c)
			}
			f.state = atBulkLF
		case atBulkLF:
			if c != '\n' {
				return i, protocolError("byte %#x where a bulk string ends", c)
			}
			f.endElement()
			if f.between() {
				return i + 1, nil
			}
		}
	}
	return len(b), nil
}

// between reports whether the next byte begins a reply.
func (f *framer) between() bool { return f.state == atType && f.depth == 0 }

// begin reads the type byte of an element.
func (f *framer) begin(c byte) error {
	if f.depth == 0 {
		f.replies++
		f.elements, f.bulk = 0, 0
	}
	f.kind, f.line, f.digits, f.minus, f.number = c, 0, 0, false, 0
	switch c {
	case '+', '-':
		f.state = inText
	case ':', '$', '*':
		f.state = inNumber
	default:
		return protocolError("type byte %#x", c)
	}
	return nil
}

func (f *framer) text(c byte) error {
	switch c {
	case '\r':
		f.state = atLF
		return nil
	case '\n':
		return protocolError("line feed without a carriage return")
	}
	if f.line++; f.line > maxLine {
		return protocolError("a line of more than %d bytes", maxLine)
	}
	return nil
}

func (f *framer) digit(c byte) error {
	switch {
	case c >= '0' && c <= '9':
		if f.digits++; f.digits > maxDigits {
			return protocolError("a number of more than %d digits", maxDigits)
		}
		f.number = f.number*10 + uint64(c-'0') // 19 digits fit
		return nil
	case c == '-' && f.digits == 0 && !f.minus:
		f.minus = true
		return nil
	case c == '\r':
		f.state = atLF
		return nil
	}
	return protocolError("byte %#x in a number", c)
}

// endLine handles a complete header.
func (f *framer) endLine() error {
	switch f.kind {
	case '+', '-':
		// Without this limit an array of long lines could have 256 MiB.
		if f.bulk += f.line; f.bulk > maxBulk {
			return protocolError("a reply with more than %d bytes of strings", maxBulk)
		}
		f.endElement()
		return nil
	}
	if f.digits == 0 {
		return protocolError("a header without a number")
	}
	switch f.kind {
	case ':':
		// This refuses the smallest int64 too, which Redis never sends.
		if f.number > maxInt64 {
			return protocolError("an integer beyond 64 bits")
		}
		f.endElement()
		return nil
	case '$':
		return f.beginBulk()
	default:
		return f.beginArray()
	}
}

// null reports whether the header says -1. Any other negative number is an error.
func (f *framer) null() (bool, error) {
	if !f.minus {
		return false, nil
	}
	if f.number != 1 || f.digits != 1 {
		return false, protocolError("a negative length")
	}
	return true, nil
}

func (f *framer) beginBulk() error {
	null, err := f.null()
	if err != nil {
		return err
	}
	if null {
		f.endElement()
		return nil
	}
	if f.number > maxBulk || f.bulk+int(f.number) > maxBulk {
		return protocolError("a reply with more than %d bytes of strings", maxBulk)
	}
	f.payload = int(f.number)
	f.bulk += f.payload
	f.state = inPayload
	if f.payload == 0 {
		f.state = atBulkCR
	}
	return nil
}

func (f *framer) beginArray() error {
	null, err := f.null()
	if err != nil {
		return err
	}
	if null || f.number == 0 {
		f.endElement()
		return nil
	}
	if f.number > maxElements || f.elements+int(f.number) > maxElements {
		return protocolError("a reply of more than %d elements", maxElements)
	}
	if f.depth == maxDepth {
		return protocolError("arrays nested more than %d deep", maxDepth)
	}
	f.elements += int(f.number)
	f.open[f.depth] = int(f.number)
	f.depth++
	f.state = atType
	return nil
}

// endElement ends an element, and each array whose last element it is.
func (f *framer) endElement() {
	f.state = atType
	for f.depth > 0 {
		f.open[f.depth-1]--
		if f.open[f.depth-1] > 0 {
			return
		}
		f.depth--
	}
}

func protocolError(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrProtocol}, args...)...)
}
