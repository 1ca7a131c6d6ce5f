package pipeline

import (
	"io"
	"slices"
	"testing"

	"github.com/gomodule/redigo/redis"
)

// FuzzBatchReply reads the reply to a batch as a session does, and as redigo alone would.
func FuzzBatchReply(f *testing.F) {
	for _, reply := range []string{
		"*2\r\n:1\r\n:0\r\n", "*3\r\n:12\r\n:3\r\n:0\r\n", "*4\r\n:-1\r\n:0\r\n:0\r\n-FENCE bad\r\n", "*8\r\n:-1\r\n:0\r\n:0\r\n:1\r\n:2\r\n:3\r\n*1\r\n:6\r\n", "*0\r\n", "*-1\r\n", "*1\r\n:-1\r\n", "*1\r\n:+1\r\n", "*2\r\n:007\r\n:9223372036854775807\r\n",
		"*1\r\n:999999999999999999\r\n", "*1\r\n:1000000000000000000\r\n", "*2\r\n:1\r\n$1\r\n1\r\n", "*2\r\n:1\r\n*1\r\n:1\r\n", "*01\r\n:1\r\n", "-NOSCRIPT no\r\n", ":1\r\n", "+OK\r\n",
	} {
		f.Add([]byte(reply))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		ends, _, _ := scanEach(b)
		if len(ends) == 0 {
			return // the framer hands nothing on
		}
		b = b[:ends[0]]
		before := []int64{7}
		fast, ok := appendInts(before, b)
		if fast[0] != 7 || !ok && len(fast) != 1 {
			t.Fatalf("%q: %v, %t", clip(b), fast, ok)
		}
		reply, err := redis.NewConn(&pieces{now: b, end: io.EOF}, 0, 0).Receive()
		all, isArray := reply.([]any)
		slow, others, slowErr := splitBatch(reply, 1, len(all), []int64{7})
		switch {
		case !ok: // then the session leaves the reply to redigo
		case err != nil || slowErr != nil:
			t.Fatalf("%q: read as %v; redigo: %v, %v, %v", clip(b), fast, reply, err, slowErr)
		case !slices.Equal(fast, slow):
			t.Fatalf("%q: read as %v; redigo: %v", clip(b), fast, slow)
		}
		if err == nil && isArray && slowErr == nil && (len(slow) != 1+len(all) || len(others) != 0) {
			t.Fatalf("%q: %d numbers and %d others of %d values", clip(b), len(slow)-1, len(others), len(all))
		}
		for n := 1; 3*n <= len(all); n++ {
			three, others, err := splitBatch(reply, 3, n, nil)
			if err != nil {
				continue
			}
			for i := 0; i < 3*n; i += 3 {
				if three[i] == otherReply {
					others = others[1:]
				}
			}
			if len(three) != 3*n || len(others) != 0 {
				t.Fatalf("%q: %d numbers, %d others too many, for %d", clip(b), len(three), len(others), n)
			}
		}
	})
}
