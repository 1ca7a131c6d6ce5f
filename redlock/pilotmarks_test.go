package redlock_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

// A slowLink is one client's connection to the masters: the answers of one master come late, and it
// may be cut off.
type slowLink struct {
	s    *sim
	addr string        // of the slow master
	late time.Duration // how late its answers are

	mu    sync.Mutex // guards what follows
	off   bool
	conns []net.Conn // to the slow master, closed ones too
	cuts  int        // how many more requests are cut off before the answer

	cutting sync.WaitGroup
}

func (l *slowLink) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if addr != l.addr {
		return l.s.dial(ctx, network, addr)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.off {
		return nil, errors.New("cut off")
	}
	conn, err := l.s.dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	l.conns = append(l.conns, conn)
	return &lateConn{conn, l}, nil
}

// cut ends all connections to the slow master, and refuses new ones for d.
func (l *slowLink) cut(d time.Duration) {
	l.mu.Lock()
	l.off = true
	for _, c := range l.conns {
		_ = c.Close()
	}
	l.conns = nil
	l.mu.Unlock()
	time.Sleep(d)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.off = false
}

type lateConn struct {
	net.Conn
	link *slowLink
}

// Write looks for the request of a waiter.
func (c *lateConn) Write(p []byte) (int, error) {
	l := c.link
	l.mu.Lock()
	if l.cuts > 0 && bytes.Contains(p, []byte("\r\nwait\r\n")) {
		l.cuts--
		l.cutting.Go(func() {
			time.Sleep(l.late / 2)
			l.cut(30 * time.Millisecond)
		})
	}
	l.mu.Unlock()
	return c.Conn.Write(p)
}

func (c *lateConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	time.Sleep(c.link.late)
	return n, err
}

// pilotOf returns the master that keeps a key's queue.
func (s *sim) pilotOf(key string) int {
	s.T.Helper()
	c := s.open()
	held := mustLock(s.T, c, key)
	q := s.queue(s.open(), key)
	pilot := s.pilot(key)
	unlock(s.T, held)
	unlock(s.T, q.mustHave(s.T))
	return pilot
}

// A pilot whose connection is lost during a request is the pilot again once it is back. Otherwise
// its waiters would stay in a queue that nobody else sees.
func TestAFairWaiterWhosePilotIsCutOffAgainAndAgainIsServedInItsTurn(t *testing.T) {
	t.Parallel()
	inSim(t, 5, func(t *testing.T, s *sim) {
		fair := redlock.WithFairness()
		link := &slowLink{s: s, addr: s.All[s.pilotOf("key")].Addr(), late: 60 * time.Millisecond}
		patient := s.open(redlock.WithPool(pool.WithDialer(link.dial)))
		time.Sleep(time.Second)
		held := mustLock(t, s.open(), "key", fair)
		first := s.queue(patient, "key", fair)
		time.Sleep(time.Second) // it is in the queue
		var served int
		var mu sync.Mutex
		var others sync.WaitGroup
		over := make(chan struct{})
		for range 3 {
			c := s.open()
			others.Go(func() {
				for {
					l, err := c.Lock(t.Context(), "key", fair)
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					served++
					mu.Unlock()
					time.Sleep(20 * time.Millisecond)
					_ = l.Unlock(t.Context())
					select {
					case <-over:
						return
					case <-time.After(time.Millisecond):
					}
				}
			})
		}
		link.mu.Lock()
		link.cuts = 8
		link.mu.Unlock()
		time.Sleep(5 * time.Second)
		link.cutting.Wait()
		if link.cuts != 0 {
			t.Errorf("%d cuts are left", link.cuts)
		}
		time.Sleep(2 * time.Second) // the pilot is connected again, and the waiter has looked
		unlock(t, held)
		select {
		case <-first.done:
		case <-time.After(30 * time.Second):
		}
		mu.Lock()
		overtaken := served
		mu.Unlock()
		if !first.has() {
			t.Errorf("not served in 30s, others %d times", overtaken)
			first.cancel()
			<-first.done
		} else {
			unlock(t, first.lock)
		}
		if overtaken > 0 {
			t.Errorf("others were served %d times before", overtaken)
		}
		close(over)
		others.Wait()
	})
}

// A client that was called while it could not be reached has lost its entry. It comes back to its
// old position, not behind clients that came later.
func TestUnreachableWaiterKeepsItsPositionInTheQueue(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		fair := redlock.WithFairness()
		link := &slowLink{s: s, addr: s.All[s.pilotOf("key")].Addr()}
		held := mustLock(t, s.open(), "key", fair)
		first := s.queue(s.open(redlock.WithPool(pool.WithDialer(link.dial))), "key", fair)
		time.Sleep(time.Second)
		second, third := s.queue(s.open(), "key", fair), s.queue(s.open(), "key", fair)
		time.Sleep(time.Second)
		var cut sync.WaitGroup
		cut.Go(func() { link.cut(time.Second) })
		settle()
		unlock(t, held)
		if first.has() || !second.has() {
			t.Fatal("the second one was not called")
		}
		cut.Wait()
		time.Sleep(2 * time.Second) // it is back: it dials at least every second
		unlock(t, second.lock)
		if !first.has() || third.has() {
			t.Fatalf("the first one has it: %v, the third: %v", first.has(), third.has())
		}
		unlock(t, first.lock)
		unlock(t, third.mustHave(t))
	})
}

// After a refusal the pilot is asked again a second later, on the same connection.
func TestAPilotThatRefusedItsQueueIsAskedAgainASecondLater(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		queue := queueKey("key")
		pilot := s.pilotOf("key")
		s.Ask(pilot, "SET", queue, "no queue")
		held := mustLock(t, s.open(), "key")
		q := s.queue(s.open(), "key")
		time.Sleep(500 * time.Millisecond)
		if got := s.queuesBeside(pilot, queue); got != 1 {
			t.Errorf("%d masters have the queue: want another one to", got)
		}
		s.Ask(pilot, "DEL", queue)
		time.Sleep(2 * time.Second)
		if got := s.members(pilot, queue); len(got) != 1 {
			t.Errorf("in the pilot's queue are %q", got)
		}
		q.mustBeWoken(t, func() { unlock(t, held) })
		unlock(t, q.mustHave(t))
	})
}

// If no master lets anybody queue, waiters poll, and releases reach every master.
func TestWhereEveryMasterRefusesItsQueueWaitersPoll(t *testing.T) {
	for _, k := range []kind{one, reader} {
		t.Run(k.name, func(t *testing.T) {
			inSim(t, 5, func(t *testing.T, s *sim) {
				s.do("SET", queueKey("a"), "no queue")
				s.do("SET", readersQueue("a"), "no queue")
				held := mustLock(t, s.open(), "a")
				q := k.waits(s, s.open())
				time.Sleep(time.Second)
				unlock(t, held)
				time.Sleep(250 * time.Millisecond)
				unlock(t, q.mustHave(t))
				s.do("DEL", queueKey("a"), readersQueue("a"))
				s.wantClean()
			})
		})
	}
}

// queuesBeside counts the masters, except one, that have members in a queue.
func (s *sim) queuesBeside(but int, queue string) (n int) {
	for i := range s.All {
		if i != but && len(s.members(i, queue)) > 0 {
			n++
		}
	}
	return n
}
