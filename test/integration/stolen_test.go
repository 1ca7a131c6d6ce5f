package integration

import (
	"context"
	"testing"

	"github.com/redquorum/redquorum/redlock"
)

// The lock was acquired on three masters, for the others had a stranger's key or
// were down: those never had ours. When one of the three loses it, a majority
// certainly has not got it, and all that can be asked has answered: the lock is
// lost, and there is no outage.
func TestUnlockFindsALossAmongTheMastersThatGranted(t *testing.T) {
	for _, test := range []struct {
		name   string
		happen func(p *processes, c *redlock.Client)
	}{
		{"two have a stranger's key", func(p *processes, _ *redlock.Client) {
			p.foreign("lock", strangersToken, 3, 4)
		}},
		{"two are down", func(p *processes, c *redlock.Client) {
			p.kill(3, 4)
			awaitRefused(p.t, c, 3, 4)
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := startProcesses(t, five)
			p.trusting = true
			c := p.open(reconnectSoon())
			test.happen(p, c)
			l := mustTry(t, c, "lock", redlock.WithLease(longTTL))
			p.do(0, "DEL", "lock")
			wantExactly(t, "Unlock", l.Unlock(context.Background()), redlock.ErrLost, redlock.ErrNotHeld)
			p.remove("lock")
		})
	}
}
