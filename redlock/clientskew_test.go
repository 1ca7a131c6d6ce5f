package redlock_test

import (
	"testing"
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/redlock"
)

// T2, with a client whose clock is behind by more than a lock lasts: what two masters
// remember is gone by the time that it asks, so that its clock alone makes the token.
func TestTokensRiseAfterDataLossByAClientWhoseClockIsFarBehind(t *testing.T) {
	const skew = 10 * time.Second
	inSim(t, 5, func(t *testing.T, s *sim) {
		first := s.guarded(redlock.WithFencing(), redlock.WithClientSkew(skew))
		behind := s.guarded(redlock.WithFencing(), redlock.WithClientSkew(skew), redlock.WithClock(&skewedClock{off: -skew}))
		l := mustLock(t, first, "key")
		token := l.Fence()
		unlock(t, l)

		s.Restart(false, 0, 1, 2)
		time.Sleep(settled)
		s.Kill(3, 4)
		time.Sleep(quarantine() + 100*time.Millisecond)
		wantStandings(t, behind, quaranty, quaranty, quaranty, redlock.AbstainNotConnected, redlock.AbstainNotConnected)
		if l, err := behind.TryLock(t.Context(), "key"); err == nil {
			t.Fatalf("token %d after %d, granted by masters that have forgotten it", l.Fence(), token)
		}

		longer := guard.Config{Level: guard.Standard, MaxTTL: shortFleet, Masters: 5, Drift: drift.Default, ClientSkew: skew}
		time.Sleep(longer.Quarantine() - quarantine())
		l = mustLock(t, behind, "key")
		if l.Fence() <= token {
			t.Errorf("token %d after %d", l.Fence(), token)
		}
		unlock(t, l)
	})
}
