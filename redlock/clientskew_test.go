package redlock_test

import (
	"strings"
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

		s.restart(false, 0, 1, 2)
		time.Sleep(settled)
		s.kill(3, 4)
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

func TestClientSkewIsChecked(t *testing.T) {
	for want, opts := range map[string][]redlock.Option{
		"WithClientSkew: -1ns: want 0 to 24h0m0s":      {redlock.WithClientSkew(-1)},
		"WithClientSkew: 24h0m0.000000001s: want 0 to": {redlock.WithClientSkew(24*time.Hour + 1)},
		// A fence has to outlast the quarantine.
		"WithFenceRetention: 2h0m0s: want 3h2m0s": {redlock.WithClientSkew(time.Hour), redlock.WithFenceRetention(2 * time.Hour)},
	} {
		c, err := redlock.Open(someURLs, opts...)
		if err == nil {
			_ = c.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
