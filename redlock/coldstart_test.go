package redlock_test

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

// inColdSim is inSim for a declared fleet whose masters are far away: a dial takes as long as a
// command.
func inColdSim(t *testing.T, n int, test func(t *testing.T, s *sim)) {
	t.Helper()
	inSim(t, n, func(t *testing.T, s *sim) {
		c := s.guarded()
		unlock(t, mustLock(t, c, "before"))
		_ = c.Close() // no running client has seen the fleet
		s.opts = append(s.opts, redlock.WithPool(pool.WithDialer(s.coldDial)))
		test(t, s)
	})
}

// coldDial dials a master that is far away.
func (s *sim) coldDial(ctx context.Context, network, addr string) (net.Conn, error) {
	select {
	case <-time.After(away):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	conn, err := s.Dialer()(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return newFarConn(conn, func() time.Duration { return away }), nil
}

// One round trip connects, one is the handshake with the guard, and one takes the lock.
func TestTheFirstLockTakesThreeRoundTrips(t *testing.T) {
	for _, down := range []int{0, 2} {
		t.Run(fmt.Sprint(down, " of five down"), func(t *testing.T) {
			inColdSim(t, 5, func(t *testing.T, s *sim) {
				for i := range down {
					s.Kill(i)
				}
				c, began := s.guarded(), time.Now()
				l := mustLock(t, c, "key")
				if took := time.Since(began); took != 3*away {
					t.Errorf("took %v, want three round trips of %v", took, away)
				}
				unlock(t, l)
				time.Sleep(time.Second)
				s.wantRolledBack("key")
			})
		})
	}
}

// A client whose masters are already connected asks the guard's questions at once.
func TestTheFirstLockOverASharedPoolTakesTwoRoundTrips(t *testing.T) {
	inColdSim(t, 5, func(t *testing.T, s *sim) {
		p, err := pool.New(s.URLs(), pool.WithDialer(s.coldDial))
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		time.Sleep(time.Second)
		c, err := redlock.New(p, redlock.WithMaxTTL(shortFleet), redlock.WithTTL(time.Second))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		began := time.Now()
		l := mustLock(t, c, "key")
		if took := time.Since(began); took != 2*away {
			t.Errorf("took %v, want two round trips of %v", took, away)
		}
		unlock(t, l)
	})
}
