package redlock_test

import (
	"context"
	"io"
	"net"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/redquorum/redquorum/internal/simmaster"
	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

// A losingConn breaks after the first write while doomed is set, and loses the answers to it. The
// master still executes what was written.
type losingConn struct {
	net.Conn
	doomed *atomic.Bool // the master's next connection that is written to breaks
	lost   atomic.Bool
}

func (c *losingConn) Write(p []byte) (int, error) {
	if c.doomed.CompareAndSwap(true, false) {
		c.lost.Store(true)
	}
	return c.Conn.Write(p)
}

func (c *losingConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.lost.Load() {
		return 0, io.EOF
	}
	return n, err
}

// openLosing is open for a client with losingConns. lose makes n masters lose the answers to what
// is written next, with their connections.
func (s *sim) openLosing(opts ...redlock.Option) (c *redlock.Client, lose func(n int)) {
	doomed := make([]atomic.Bool, len(s.All))
	c = s.open(append(opts, redlock.WithPool(pool.WithDialer(func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := s.dial(ctx, network, addr)
		i := slices.IndexFunc(s.All, func(m *simmaster.Master) bool { return m.Addr() == addr })
		return &losingConn{Conn: conn, doomed: &doomed[i]}, err
	})))...)
	return c, func(n int) {
		for i := range n {
			doomed[i].Store(true)
		}
	}
}

// The release is sent again on the next connections. It finds that the lock is gone, or that the
// next holder has it: the first release had worked.
func TestAReleaseWhoseAnswersAreLostWithTheirConnectionsIsNoLoss(t *testing.T) {
	for name, waited := range map[string]bool{"nobody waits": false, "somebody waits": true} {
		t.Run(name, func(t *testing.T) {
			onEachKind(t, func(t *testing.T, s *sim, k kind) {
				for _, n := range []int{3, 5} {
					c, lose := s.openLosing(redlock.WithTrace(&redlock.Trace{Lost: func(_ *redlock.Lock, why *redlock.LostError) { t.Errorf("lost: %v", why) }}))
					l := s.must(k.try(c, t.Context(), ab[:1]))
					var next *queuer
					if waited {
						next = k.waits(s, s.open())
						settle()
					}
					lose(n)
					if err := l.Unlock(t.Context()); err != nil {
						t.Errorf("%d answers are lost: %v", n, err)
					}
					settle()
					if waited {
						unlock(t, next.lock)
					}
					s.wantClean()
				}
			})
		})
	}
}

// A release that was written only once can say that the lock had been lost before.
func TestAReleaseThatIsAnsweredTellsThatTheLockWasLost(t *testing.T) {
	onEachKind(t, func(t *testing.T, s *sim, k kind) {
		c, lose := s.openLosing()
		l := s.must(k.try(c, t.Context(), ab[:1]))
		s.do("DEL", "a")
		lose(2) // the others are a quorum
		wantExactly(t, l.Unlock(t.Context()), redlock.ErrNotHeld, redlock.ErrLost)
	})
}
