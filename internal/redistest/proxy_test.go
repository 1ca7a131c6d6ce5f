package redistest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/internal/testutil"
)

const bound = 10 * time.Second

// echo starts a server that answers every line with the same line, and passes on what it gets.
func echo(t *testing.T) (addr string, got <-chan string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	lines := make(chan string, 16)
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer c.Close()
				for s := bufio.NewScanner(c); s.Scan(); {
					lines <- s.Text()
					if _, err := fmt.Fprintln(c, s.Text()); err != nil {
						return
					}
				}
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		serving.Wait()
	})
	return listener.Addr().String(), lines
}

// startProxy makes a proxy in front of an echo server.
func startProxy(t *testing.T) (l *Proxy, got <-chan string) {
	t.Helper()
	addr, got := echo(t)
	l, err := NewProxy(addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l, got
}

// exchange sends a line and waits until both sides have received it.
func exchange(t *testing.T, c net.Conn, got <-chan string, what string) {
	t.Helper()
	say(t, c, what)
	hear(t, c, what)
	wantArrived(t, got, what)
}

func dialProxy(t *testing.T, l *Proxy) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", l.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func say(t *testing.T, c net.Conn, what string) {
	t.Helper()
	if _, err := fmt.Fprintln(c, what); err != nil {
		t.Fatal(err)
	}
}

func hear(t *testing.T, c net.Conn, want string) {
	t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(bound))
	answer := make([]byte, len(want)+1)
	if _, err := io.ReadFull(c, answer); err != nil || string(answer) != want+"\n" {
		t.Fatalf("heard %q (%v), want %q", answer, err, want)
	}
}

func hearNothing(t *testing.T, c net.Conn) {
	t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if n, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("read %d bytes, %v: want silence", n, err)
	}
}

func wantArrived(t *testing.T, got <-chan string, want string) {
	t.Helper()
	if line := testutil.Await(t, bound, "the server got "+want, got); line != want {
		t.Fatalf("the server got %q, want %q", line, want)
	}
}

func TestWhatIsCutOffArrivesAfterTheHealing(t *testing.T) {
	for _, all := range []bool{true, false} {
		l, got := startProxy(t)
		c := dialProxy(t, l)
		exchange(t, c, got, "before")
		if all {
			l.Cut()
		} else {
			l.CutReplies()
		}
		say(t, c, "during")
		if !all {
			wantArrived(t, got, "during") // it has arrived, but the reply has not
		}
		hearNothing(t, c)
		if len(got) != 0 {
			t.Fatalf("the server got %q during the cut", <-got)
		}
		l.Heal()
		hear(t, c, "during")
	}
}

func TestAConnectionMadeDuringACutComesToNothing(t *testing.T) {
	l, got := startProxy(t)
	l.Cut()
	c := dialProxy(t, l)
	say(t, c, "lost")
	hearNothing(t, c)
	l.Heal()
	_ = c.SetReadDeadline(time.Now().Add(bound))
	if n, err := c.Read(make([]byte, 1)); n != 0 || err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("read %d bytes, %v: want the end", n, err)
	}
	if len(got) != 0 {
		t.Errorf("the server got %q", <-got)
	}
}

func TestOnlyTheConnectionsThatThereAreAreHalfOpen(t *testing.T) {
	l, got := startProxy(t)
	before := dialProxy(t, l)
	exchange(t, before, got, "before")
	l.HalfOpen()
	say(t, before, "lost")
	hearNothing(t, before)
	exchange(t, dialProxy(t, l), got, "after")
	hearNothing(t, before)
}

func TestWhatIsDelayedArrivesThoughTheClientIsGone(t *testing.T) {
	const delay = 100 * time.Millisecond
	l, got := startProxy(t)
	c := dialProxy(t, l)
	l.Slow(delay)
	began := time.Now()
	say(t, c, "late")
	_ = c.Close()
	wantArrived(t, got, "late")
	if took := time.Since(began); took < delay {
		t.Errorf("arrived after %v, want %v at least", took, delay)
	}
}

func TestWhatIsHeldBackIsLostWithTheConnection(t *testing.T) {
	l, got := startProxy(t)
	c := dialProxy(t, l)
	exchange(t, c, got, "before")
	l.Cut()
	say(t, c, "lost")
	hearNothing(t, c) // the proxy holds it by now
	_ = c.Close()
	testutil.Eventually(t, "no connection is left", func() bool { return l.connections() == 0 })
	l.Heal()
	if len(got) != 0 {
		t.Errorf("the server got %q", <-got)
	}
}

// connections returns how many connections there are, to both ends.
func (l *Proxy) connections() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.conns)
}

func TestAWrongReplyEndsTheConnection(t *testing.T) {
	l, _ := startProxy(t)
	c := dialProxy(t, l)
	say(t, c, "right")
	hear(t, c, "right")
	l.Garble(1, "wrong, ", "also ")
	for n, want := range []string{"wrong, ", "also "} {
		if n > 0 {
			c = dialProxy(t, l)
			say(t, c, "first") // the first read is right
			hear(t, c, "first")
		}
		say(t, c, "more")
		_ = c.SetReadDeadline(time.Now().Add(bound))
		rest, err := io.ReadAll(c)
		if err != nil || string(rest) != want {
			t.Errorf("the answer is %q, %v: want %q and the end", rest, err, want)
		}
	}
	l.Heal()
	c = dialProxy(t, l)
	for range 3 {
		say(t, c, "right")
		hear(t, c, "right")
	}
	if n := l.Garbled(); n != 2 {
		t.Errorf("%d replies were wrong, want 2", n)
	}
}

func TestADelayKeepsTheOrderAndDoesNotAddUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const delay = 10 * time.Millisecond
		p := &Proxy{quit: make(chan struct{})}
		p.Delay(delay)
		for d := range direction(2) {
			from, sender := net.Pipe()
			receiver, to := net.Pipe()
			var carrying, sending sync.WaitGroup
			carrying.Go(func() { p.carry(d, to, from, nil, nil, nil) })
			start := time.Now()
			sending.Go(func() {
				for _, message := range []string{"a", "b", "c"} {
					if _, err := io.WriteString(sender, message); err != nil {
						t.Error(err)
					}
					time.Sleep(time.Millisecond)
				}
			})
			room := make([]byte, 1)
			for i, want := range []string{"a", "b", "c"} {
				if _, err := io.ReadFull(receiver, room); err != nil || string(room) != want {
					t.Fatalf("%q, error %v: want %q", room, err, want)
				}
				if got, want := time.Since(start), delay+time.Duration(i)*time.Millisecond; got != want {
					t.Errorf("%s arrived after %v: want %v", room, got, want)
				}
			}
			sending.Wait()
			sender.Close()
			carrying.Wait()
			if _, err := receiver.Read(room); !errors.Is(err, io.EOF) {
				t.Errorf("error %v after the sender's end: want %v", err, io.EOF)
			}
		}
	})
}
