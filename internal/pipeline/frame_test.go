package pipeline

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// hostileReplies are replies that the framer has to refuse before redigo sees the end of the wrong
// header.
var hostileReplies = []struct{ name, reply string }{
	{"a bulk string of the largest uint64", "$18446744073709551615\r\n"},
	{"a bulk string of one byte too many", "$1048577\r\n"},
	{"a bulk string of length -2", "$-2\r\n"},
	{"a bulk string of length -0", "$-0\r\n\r\n"},
	{"a bulk string without a length", "$\r\n"},
	{"a bulk string of length --1", "$--1\r\n"},
	{"a bulk string with a plus", "$+1\r\na\r\n"},
	{"a bulk string with a space", "$ 1\r\na\r\n"},
	{"a length of twenty zeros", "$00000000000000000000\r\n\r\n"},
	{"a bulk string longer than it says", "$1\r\nab\r\n"},
	{"a bulk string that ends in carriage returns", "$1\r\na\r\r"},
	{"an array of length -1 and more", "*-11\r\n"},
	{"an array without a length", "*\r\n"},
	{"an array of one element too many", "*4097\r\n"},
	{"an array of the largest int64", "*9223372036854775807\r\n"},
	{"arrays nested nine deep", strings.Repeat("*1\r\n", 9)},
	{"arrays nested without end", strings.Repeat("*1\r\n", 100_000)},
	{"nested arrays that add up beyond the limit", "*64\r\n" + strings.Repeat("*64\r\n"+strings.Repeat(":1\r\n", 64), 64)},
	{"nested claims that add up beyond the limit", "*4000\r\n*97\r\n"},
	{"bulk strings that add up beyond the limit", "*2\r\n" + bulk(strings.Repeat("x", maxBulk)) + "$1\r\n"},
	{"simple strings that add up beyond the limit", "*17\r\n" + strings.Repeat("+"+strings.Repeat("x", maxLine)+"\r\n", 17)},
	{"errors and bulk strings that add up beyond the limit", "*2\r\n-" + strings.Repeat("x", maxLine) + "\r\n$1000000\r\n"},
	{"a line of one byte too many", "+" + strings.Repeat("x", maxLine+1)},
	{"a line feed without a carriage return", "+OK\n"},
	{"a carriage return without a line feed", "+OK\rX"},
	{"two carriage returns", "+OK\r\r\n"},
	{"an integer above the largest int64", ":9223372036854775808\r\n"},
	{"an integer of twenty digits", ":10000000000000000000\r\n"},
	{"an integer of a minus", ":-\r\n"},
	{"an integer with a minus inside", ":1-1\r\n"},
	{"RESP3 null", "_\r\n"},
	{"RESP3 map", "%1\r\n+a\r\n+b\r\n"},
	{"RESP3 push", ">2\r\n+message\r\n+x\r\n"},
	{"RESP3 in an array", "*2\r\n:1\r\n_\r\n"},
	{"a TLS alert", "\x15\x03\x01\x00\x02\x02\x46"},
	{"a byte after a reply that belongs to none", "+OK\r\n\r\n"},
	{"a bulk string in bad company", "$3\r\nabc\r\nabc\r\n"},
}

// plainReplies are usual replies of masters, and the largest that are allowed.
var plainReplies = []struct{ name, reply string }{
	{"OK", "+OK\r\n"},
	{"an empty simple string", "+\r\n"},
	{"an error", "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n"},
	{"an empty error", "-\r\n"},
	{"one", ":1\r\n"},
	{"a negative integer", ":-2\r\n"},
	{"minus zero", ":-0\r\n"},
	{"the largest int64", ":9223372036854775807\r\n"},
	{"the smallest int64 that is negated from a positive one", ":-9223372036854775807\r\n"},
	{"nil", "$-1\r\n"},
	{"a nil array", "*-1\r\n"},
	{"an empty bulk string", "$0\r\n\r\n"},
	{"a bulk string of line ends", "$4\r\n\r\n\r\n\r\n"},
	{"a bulk string that looks like replies", bulk("$9223372036854775807\r\n*1\r\n")},
	{"a length with leading zeros", "$0000000000000000003\r\nabc\r\n"},
	{"an empty array", "*0\r\n"},
	{"a holder", "*3\r\n$6\r\nstring\r\n$5\r\ntoken\r\n:9873\r\n"},
	{"an array of everything", "*6\r\n+a\r\n-b\r\n:3\r\n$1\r\nd\r\n$-1\r\n*2\r\n*0\r\n*-1\r\n"},
	{"the longest line", "+" + strings.Repeat("x", maxLine) + "\r\n"},
	{"the longest bulk string", bulk(strings.Repeat("x", maxBulk))},
	{"the most elements", "*4096\r\n" + strings.Repeat(":1\r\n", 4096)},
	{"the most elements in nested arrays", "*64\r\n" + strings.Repeat("*63\r\n"+strings.Repeat(":1\r\n", 63), 64)},
	{"the deepest arrays", strings.Repeat("*1\r\n", maxDepth) + ":1\r\n"},
	{"the most bytes in several strings", "*4\r\n" + strings.Repeat(bulk(strings.Repeat("x", maxBulk/4)), 4)},
}

// The last byte ends a reply, and no other does.
func TestTheFramerAcceptsWhatMastersAnswer(t *testing.T) {
	for _, reply := range plainReplies {
		t.Run(reply.name, func(t *testing.T) {
			// Twice, because the limits are for one reply, not for the stream.
			n := len(reply.reply)
			ends, accepted, err := scanEach([]byte(reply.reply + reply.reply))
			if err != nil || accepted != 2*n || !slices.Equal(ends, []int{n, 2 * n}) {
				t.Fatalf("%d of %d bytes accepted, replies ended at %v, error %v", accepted, 2*n, ends, err)
			}
		})
	}
}

func TestTheFramerRefusesHostileReplies(t *testing.T) {
	for _, hostile := range hostileReplies {
		t.Run(hostile.name, func(t *testing.T) {
			var f framer
			err := scanAll(&f, []byte(hostile.reply))
			if !errors.Is(err, ErrProtocol) {
				t.Fatalf("error %v, want ErrProtocol", err)
			}
			if strings.ContainsAny(err.Error(), "\r\n") || len(err.Error()) > 200 {
				t.Errorf("not one short line: %q", err)
			}
		})
	}
}

// scanAll scans reply by reply, as the wire does.
func scanAll(f *framer, b []byte) error {
	for len(b) > 0 {
		n, err := f.scan(b)
		if err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// scanEach scans byte by byte. It returns where replies ended, how many bytes were accepted, and
// the error that ended the scan.
func scanEach(b []byte) (ends []int, accepted int, err error) {
	var f framer
	for i := range b {
		if err := scanAll(&f, b[i:i+1]); err != nil {
			return ends, i, err
		}
		if f.between() {
			ends = append(ends, i+1)
		}
	}
	return ends, len(b), nil
}
