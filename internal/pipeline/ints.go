package pipeline

import "fmt"

// ThreeInts is a reply of three integers, for scripts that answer more than yes or no. redigo would
// allocate five values for it.
type ThreeInts [3]int64

func (three *ThreeInts) String() string { return fmt.Sprint(*three) }

// parse reads a whole reply of three integers, none of them negative. It returns false for any
// other reply, and may have changed the numbers then.
func (three *ThreeInts) parse(b []byte) bool {
	ints, ok := appendInts(three[:0], b)
	return ok && len(ints) == len(three)
}

// appendInts parses a whole reply that is an array of integers, none of them negative. It changes
// dst only behind its end.
func appendInts(dst []int64, b []byte) ([]int64, bool) {
	n, b, ok := leadingInt('*', b)
	if !ok {
		return dst, false
	}
	ints := dst
	for range n {
		var i int64
		if i, b, ok = leadingInt(':', b); !ok {
			return dst, false
		}
		ints = append(ints, i)
	}
	return ints, len(b) == 0
}

// leadingInt takes a line that begins with kind, with a number of 1 to 18 digits.
func leadingInt(kind byte, b []byte) (i int64, rest []byte, ok bool) {
	if len(b) == 0 || b[0] != kind {
		return 0, nil, false
	}
	n := 1
	for n < len(b) && n < 19 && '0' <= b[n] && b[n] <= '9' {
		i = i*10 + int64(b[n]-'0')
		n++
	}
	if n == 1 || len(b) < n+2 || b[n] != '\r' || b[n+1] != '\n' {
		return 0, nil, false
	}
	return i, b[n+2:], true
}
