package pipeline

import "fmt"

// Limits of one reply, all of it taken together. A lock's replies are tens of
// bytes and INFO some kilobytes; whoever claims more is broken or hostile.
const (
	maxBulk     = 1 << 20  // bytes of strings of all kinds in one reply
	maxElements = 4096     // elements of all arrays of one reply
	maxDepth    = 8        // arrays within arrays
	maxLine     = 64 << 10 // bytes of a simple string, an error or a header
)

// A framer walks over the bytes of a RESP2 stream and refuses what redigo must
// not see. redigo v1.9.3 allocates what a length claims before the bytes are
// there, wraps lengths round (18446744073709551615 becomes -1, a nil reply),
// panics on those that stay negative, and recurses without bound. Bytes are
// handed on only after the framer has seen them, so redigo never gets the line
// end of a bad header.
//
// The zero value stands before the first reply.
type framer struct {
	state frameState
	kind  byte // type byte of the header being read

	line   int // bytes of the line so far
	digits int
	minus  bool
	number uint64

	payload int // bytes of the bulk string still to come

	replies  uint64        // replies that have begun
	depth    int           // open arrays
	open     [maxDepth]int // elements still to come, for each open array
	elements int           // elements of this reply
	bulk     int           // bytes of strings of this reply, errors too
}

type frameState uint8

const (
	atType    frameState = iota // the next byte is a type byte
	inText                      // in a simple string or an error
	inNumber                    // in an integer or a length
	atLF                        // after the CR of a line
	inPayload                   // in the bytes of a bulk string
	atBulkCR                    // after them
	atBulkLF
)

// Numbers of a reply as Redis writes them: an int64.
const (
	maxDigits = 19
	maxInt64  = 1<<63 - 1
)

// scan checks the next bytes of the stream, up to the end of the reply that they
// begin or go on with, and returns how many those are. After an error the stream
// is of no more use.
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

// between reports whether the stream stands between two replies.
func (f *framer) between() bool { return f.state == atType && f.depth == 0 }

// begin starts an element with its type byte.
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

// endLine acts on a complete header.
func (f *framer) endLine() error {
	switch f.kind {
	case '+', '-':
		// An array of the longest lines would be 256 MiB.
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
		// The smallest int64 is refused with what lies beyond: Redis never
		// counts there.
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

// null reports whether the header says -1, and refuses every other negative.
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

// endElement closes an element, and every array that it was the last of.
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
