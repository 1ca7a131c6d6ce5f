package pipeline

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/redquorum/redquorum/internal/rig"
)

func TestCallsOfOneGoroutineArriveInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t)
		s.reply = func(_ *fakeConn, args []string) string { return bulk(strings.Join(args[1:], "-")) }
		p := open(t, s.config()) // some are queued before the first connection, most while it works
		const goroutines, each = 8, 300
		var wg sync.WaitGroup
		for g := range goroutines {
			wg.Go(func() {
				calls := make([]*waiter, each)
				for i := range calls {
					calls[i] = start(t, p, "ECHO", g, i)
				}
				for i, w := range calls {
					if c := w.wait(); c.Err != nil || string(c.Reply.([]byte)) != fmt.Sprintf("%d-%d", g, i) {
						t.Errorf("call %d-%d: reply %s, error %v", g, i, c.Reply, c.Err)
					}
				}
			})
		}
		wg.Wait()
		next := make([]int, goroutines)
		for _, command := range s.conn(1).calls() {
			var g, i int
			if _, err := fmt.Sscanf(command, "ECHO %d %d", &g, &i); err != nil {
				t.Fatalf("%q: %v", command, err)
			}
			if i != next[g] {
				t.Fatalf("goroutine %d: call %d arrived where %d was next", g, i, next[g])
			}
			next[g]++
		}
		for g, n := range next {
			if n != each {
				t.Errorf("goroutine %d: %d calls arrived, want %d", g, n, each)
			}
		}
	})
}

// An owner does this with the source of a script that the master does not know.
func TestResendGoesOutAgainWithAnotherCommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t)
		s.reply = answers(map[string]string{"EVALSHA": "-NOSCRIPT No matching script.\r\n", "EVAL": ":1\r\n"})
		p := connect(t, s.config())
		w := newWaiter(t, "EVALSHA", "sha", 1, "key")
		w.resends = func(c *Call) bool {
			if !IsNoScript(c.Err) {
				return false
			}
			c.Command = c.With("EVAL", AppendCommand(nil, "EVAL", "source", 1, "key"))
			p.Resend(c)
			return true
		}
		rig.Await(t, bound, "the call is completed", w.queue(p).done) // until then it is not ours to look at
		mustSucceed(t, 1, w)
		if w.call.Reply != any(int64(1)) {
			t.Errorf("reply %v", w.call.Reply)
		}
		if got := s.conn(1).calls(); !slices.Equal(got, []string{"EVALSHA sha 1 key", "EVAL source 1 key"}) {
			t.Errorf("arrived: %v", got)
		}
		if n := p.Stats().InFlight; n != 0 {
			t.Errorf("%d in flight", n)
		}
	})
}

func TestWhatIsQueuedBeforeTheConnectionLeavesInFewWrites(t *testing.T) {
	for _, test := range []struct{ calls, size, writes, more int }{
		{1000, 5, 1, 0},
		{100, 10_000, 100 * 10_000 / writeBatch, 2}, // 1 MB in all, 4 times writeBatch
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

// While one write is blocked by a full window, everything that is queued
// gathers, and leaves in one write after it.
func TestWhatIsQueuedDuringAWriteLeavesInOneWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t)
		s.window = 16 << 10
		goOn := s.hold("HOLD")
		p := connect(t, s.config())
		client := s.conn(1).client
		hold := start(t, p, "HOLD")
		synctest.Wait() // the server reads no more
		big := start(t, p, "SET", "x", strings.Repeat("x", 64<<10))
		synctest.Wait() // its write is blocked
		before := client.writes.Load()
		calls := make([]*waiter, 500)
		for i := range calls {
			calls[i] = start(t, p, "SET", i, "value")
		}
		goOn()
		mustSucceed(t, 1, slices.Concat(calls, []*waiter{hold, big})...)
		if n := client.writes.Load() - before; n != 1 {
			t.Errorf("%d writes for %d calls, want 1", n, len(calls))
		}
	})
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
