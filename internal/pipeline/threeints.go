package pipeline

import "bytes"

// ThreeInts is a reply of three integers, which scripts give that have more to
// say than yes or no: redigo would make five values of it.
type ThreeInts [3]int64

// threeInts parses a whole reply that is one, of numbers that are not negative.
func threeInts(b []byte) (three ThreeInts, ok bool) {
	rest, ok := bytes.CutPrefix(b, []byte("*3\r\n"))
	if !ok {
		return three, false
	}
	for i := range three {
		if len(rest) == 0 || rest[0] != ':' {
			return three, false
		}
		rest = rest[1:]
		n := 0
		for n < len(rest) && n < 18 && '0' <= rest[n] && rest[n] <= '9' {
			three[i] = three[i]*10 + int64(rest[n]-'0')
			n++
		}
		if n == 0 || len(rest) < n+2 || rest[n] != '\r' || rest[n+1] != '\n' {
			return three, false
		}
		rest = rest[n+2:]
	}
	return three, len(rest) == 0
}
