package pipeline

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
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

// A call that an owner queues while another is completed comes after what was
// queued before, on the same connection.
func TestACallQueuedFromCompleteComesLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t)
		g := newGate(s)
		p := open(t, g.config())
		last := newWaiter(t, "LAST")
		first := newWaiter(t, "FIRST")
		first.onDone = func(*Call) { last.queue(p) }
		first.queue(p)
		middle := start(t, p, "MIDDLE")
		g.next <- nil
		middle.wait()
		last.wait()
		if got := s.conn(1).calls(); !slices.Equal(got, []string{"FIRST", "MIDDLE", "LAST"}) {
			t.Errorf("arrived: %v", got)
		}
	})
}

func TestResendGoesOutAgainWithAnotherCommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t)
		s.reply = func(_ *fakeConn, args []string) string {
			if args[0] == "EVALSHA" {
				return "-NOSCRIPT No matching script.\r\n"
			}
			return ":1\r\n"
		}
		p := connect(t, s.config())
		owner := &resender{p: p, done: make(chan struct{})}
		c := &Call{Command: &Command{Cmd: "EVALSHA", Encoded: AppendCommand(nil, "EVALSHA", "sha", 1, "key"), Owner: owner}}
		p.Enqueue(c)
		await(t, "the call is completed", owner.done)
		if c.Err != nil || c.Reply != int64(1) || !c.Sent || c.Epoch != 1 {
			t.Errorf("reply %v, error %v, sent %t, epoch %d", c.Reply, c.Err, c.Sent, c.Epoch)
		}
		if got := s.conn(1).calls(); !slices.Equal(got, []string{"EVALSHA sha 1 key", "EVAL source 1 key"}) {
			t.Errorf("arrived: %v", got)
		}
		if n := p.Stats().InFlight; n != 0 {
			t.Errorf("%d in flight", n)
		}
	})
}

// A resender sends the source of a script that the master does not know.
type resender struct {
	p    *Pipeline
	done chan struct{}
}

func (*resender) Abandoned(*Call) bool { return false }
func (*resender) Delayed(*Call, error) {}
func (r *resender) Complete(c *Call) {
	if IsNoScript(c.Err) {
		c.Command = c.With("EVAL", AppendCommand(nil, "EVAL", "source", 1, "key"))
		r.p.Resend(c)
		return
	}
	close(r.done)
}

func TestWhatIsQueuedBeforeTheConnectionLeavesInOneWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t)
		dial := make(chan struct{})
		cfg := s.config()
		cfg.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			<-dial
			return s.dial(ctx, network, addr)
		}
		p := open(t, cfg)
		calls := make([]*waiter, 1000)
		for i := range calls {
			calls[i] = start(t, p, "SET", i, "value")
		}
		close(dial)
		for _, w := range calls {
			if c := w.wait(); c.Err != nil {
				t.Fatal(c.Err)
			}
		}
		if n := s.conn(1).client.writes.Load(); n != 2 {
			t.Errorf("%d writes, want one for the handshake and one for all calls", n)
		}
	})
}

// While one write is blocked by a full window, everything that is queued
// gathers, and leaves in one write after it.
func TestWhatIsQueuedDuringAWriteLeavesInOneWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t)
		s.window = 16 << 10
		release := make(chan struct{})
		s.reply = func(_ *fakeConn, args []string) string {
			if args[0] == "HOLD" {
				<-release
			}
			return "+OK\r\n"
		}
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
		close(release)
		hold.wait()
		big.wait()
		for _, w := range calls {
			if c := w.wait(); c.Err != nil {
				t.Fatal(c.Err)
			}
		}
		if n := client.writes.Load() - before; n != 1 {
			t.Errorf("%d writes for %d calls, want 1", n, len(calls))
		}
	})
}

func TestAHugeBatchLeavesInSeveralWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t)
		dial := make(chan struct{})
		cfg := s.config()
		cfg.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			<-dial
			return s.dial(ctx, network, addr)
		}
		p := open(t, cfg)
		const size, number = 10_000, 100 // 1 MB in all, 4 times writeBatch
		calls := make([]*waiter, number)
		for i := range calls {
			calls[i] = start(t, p, "SET", i, strings.Repeat("x", size))
		}
		close(dial)
		for _, w := range calls {
			if c := w.wait(); c.Err != nil {
				t.Fatal(c.Err)
			}
		}
		if n := s.conn(1).client.writes.Load() - 1; n < size*number/writeBatch || n > size*number/writeBatch+2 {
			t.Errorf("%d writes for %d bytes, want one for each %d", n, size*number, writeBatch)
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
