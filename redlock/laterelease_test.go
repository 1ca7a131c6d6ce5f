package redlock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

// loseByTime loses a lock by the clock while its keys still exist: masters have executed an
// extension that too few of them have answered. It returns at the loss. expired is when the TTL of
// the last round that counts ends.
func (s *sim) loseByTime(c *redlock.Client) (l *redlock.Lock, expired time.Time) {
	s.T.Helper()
	l = mustLock(s.T, c, "key", redlock.WithLease(10*time.Second))
	expired = l.ValidUntil().Add(allowance)
	time.Sleep(5 * time.Second)
	s.Freeze(0, 1, 2)
	wantExactly(s.T, l.Extend(s.T.Context()), redlock.ErrNoQuorum)
	s.Thaw(0, 1, 2)
	<-l.Context().Done()
	if left := time.Until(expired); left != allowance {
		s.T.Fatalf("lost %v before the TTL is over, want %v", left, allowance)
	}
	return l, expired
}

// The drift allowance lies between the holder's loss and somebody else's grant.
func TestAKeyOutlivesTheLossByTimeUntilItsTTLIsOver(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		c, other := s.open(), s.open()
		l, expired := s.loseByTime(c)
		synctest.Wait()
		if n := s.holders("key", l.Token()); n != 5 {
			t.Errorf("%d masters have the key at the loss", n)
		}
		if n := c.Stats().Held; n != 0 {
			t.Errorf("%d locks are held", n)
		}
		time.Sleep(time.Until(expired) - time.Millisecond)
		_, err := other.TryLock(t.Context(), "key")
		wantExactly(t, err, redlock.ErrTaken)
		time.Sleep(time.Millisecond)
		settle()
		s.wantClean()
	})
}

func TestALockLostByTimeIsReleasedAtOnceWhereSomebodyAsksForIt(t *testing.T) {
	for name, ask := range map[string]func(t *testing.T, c *redlock.Client, l *redlock.Lock){
		"Unlock": func(t *testing.T, _ *redlock.Client, l *redlock.Lock) {
			wantExactly(t, l.Unlock(t.Context()), redlock.ErrNotHeld, redlock.ErrLost)
		},
		"Close": func(_ *testing.T, c *redlock.Client, _ *redlock.Lock) { _ = c.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			inSim(t, 5, func(t *testing.T, s *sim) {
				c := s.open()
				l, expired := s.loseByTime(c)
				ask(t, c, l)
				synctest.Wait()
				if time.Now().After(expired) {
					t.Fatal("the TTL was over by then")
				}
				s.wantClean()
			})
		})
	}
}

// A handle with a longer TTL has joined, and its extension has failed: the keys still have the old
// TTL.
func TestAKeyIsReleasedByTheTTLThatWasConfirmedLast(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		c, other := s.open(), s.open()
		l := mustLock(t, c, "key", redlock.WithTTL(2*time.Second))
		s.Freeze(0, 1, 2)
		if _, err := c.TryLock(l.Context(), "key", redlock.WithReentrancy(), redlock.WithTTL(time.Minute)); err == nil {
			t.Fatal("the longer TTL was confirmed")
		}
		<-l.Context().Done()
		s.Thaw(0, 1, 2)
		within(t, 2*time.Second, func() { unlock(t, mustLock(t, other, "key")) })
	})
}
