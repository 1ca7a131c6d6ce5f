package redlock_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

// A program that has locked and unlocked before the farthest master was reached has
// nothing there to give back.
func TestCloseDoesNotWaitForAMasterThatWasNeverReached(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		s.open() // declares the fleet
		const far = 200 * time.Millisecond
		c, err := redlock.Open(s.cluster.URLs(), redlock.WithPool(pool.WithDialer(
			func(ctx context.Context, network, addr string) (net.Conn, error) {
				if addr == s.masters[4].Addr() {
					select {
					case <-time.After(far):
					case <-ctx.Done():
						return nil, ctx.Err()
					}
				}
				return s.dial(ctx, network, addr)
			})))
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		unlock(t, mustLock(t, c, "key"))
		held := mustLock(t, c, "held")
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if d := time.Since(began); d >= far {
			t.Errorf("it took %v, as long as the farthest master", d)
		}
		if held.Context().Err() == nil {
			t.Error("a lock outlives its client")
		}
		time.Sleep(2 * far)
		s.wantClean()
	})
}
