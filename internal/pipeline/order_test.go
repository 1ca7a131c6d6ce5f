package pipeline

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
)

func TestWhatIsQueuedBeforeTheConnectionLeavesInFewWrites(t *testing.T) {
	for _, test := range []struct{ calls, size, writes, more int }{
		{1000, 5, 1, 0},
		{100, 10_000, 100 * 10_000 / writeAtOnce, 2}, // 1 MB in all, 4 times writeAtOnce
	} {
		synctest.Test(t, func(t *testing.T) {
			s, g, p := atGate(t)
			calls := make([]*waiter, test.calls)
			for i := range calls {
				calls[i] = start(t, p, "SET", i, strings.Repeat("x", test.size))
			}
			g.next <- nil
			mustSucceed(t, 1, calls...)
			n := int(s.conn(1).client.writes.Load()) - 1 // without the handshake's
			if n < test.writes || n > test.writes+test.more {
				t.Errorf("%d writes for %d calls of %d bytes, want %d", n, test.calls, test.size, test.writes)
			}
		})
	}
}

func TestCommandsOfEveryArgumentTypeArriveAsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t)
		p := connect(t, s.config())
		mustAnswer(t, p, "OK", "SET", "a b\r\n$1\r\n\x00", []byte("bytes"), 42, int64(-1), "", strings.Repeat("x", 100_000))
		got := s.conn(1).seen()
		want := []string{"SET", "a b\r\n$1\r\n\x00", "bytes", "42", "-1", "", strings.Repeat("x", 100_000)}
		if last := got[len(got)-1]; !slices.Equal(last, want) {
			t.Errorf("%d arguments arrived otherwise than they were given: %.100q", len(last), last)
		}
	})
}
