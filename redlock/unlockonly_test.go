package redlock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

// Somebody else continues to hold the lock by its token, and has extended it.
func TestNothingButUnlockReleasesALockWithUnlockOnly(t *testing.T) {
	for name, end := range map[string]func(s *sim, c *redlock.Client, l *redlock.Lock){
		"the lease has ended": func(_ *sim, _ *redlock.Client, l *redlock.Lock) {
			<-l.Context().Done()
			time.Sleep(time.Second) // until the TTL is over, too
		},
		"it was lost": func(s *sim, _ *redlock.Client, l *redlock.Lock) {
			for i := range 3 {
				s.Ask(i, "DEL", "key")
			}
			wantExactly(s.T, l.Verify(s.T.Context()), redlock.ErrLost, redlock.ErrNotHeld)
		},
		"the client is closed": func(s *sim, c *redlock.Client, _ *redlock.Lock) {
			if err := c.Close(); err != nil {
				s.T.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			inUnguardedSim(t, 5, func(t *testing.T, s *sim) {
				c := s.open()
				l := mustLock(t, c, "key", redlock.WithLease(5*time.Second), redlock.WithUnlockOnly())
				if err := l.Extend(t.Context()); err != nil {
					t.Fatal(err)
				}
				synctest.Wait() // until all masters are extended
				s.do("PEXPIRE", "key", 60_000)
				end(s, c, l)
				synctest.Wait()
				if n := s.holders("key", l.Token()); n < 2 {
					t.Errorf("%d masters have the key, want all that have not lost it", n)
				}
			})
		})
	}
	inUnguardedSim(t, 5, func(t *testing.T, s *sim) {
		l := mustLock(t, s.open(), "key", redlock.WithUnlockOnly())
		if err := l.Unlock(t.Context()); err != nil {
			t.Error(err)
		}
		s.wantClean()
	})
}
