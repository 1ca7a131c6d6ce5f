package redlock_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

// A pilot that has lost its data grants every request, but that is no vote.
func TestGrantOfAPilotThatMayNotVoteDoesNotCount(t *testing.T) {
	for _, k := range []kind{one, all} {
		t.Run(k.name, func(t *testing.T) {
			onEachLevel(t, func(t *testing.T, s *sim) {
				c := s.guarded(redlock.WithOutageWait(time.Minute))
				mustLock(t, c, "declared")
				s.do("SET", "a", "another's", "PX", 1500)
				q := k.waits(s, c)
				time.Sleep(10 * time.Millisecond)
				pilot := -1
				for i, keys := range s.allKeys() {
					if strings.Contains(keys, "redquorum:q:1:{a}") {
						pilot = i
					}
				}
				if pilot < 0 {
					t.Fatal("it does not queue up")
				}
				s.All[pilot].FlushAll() // one of the three that have the key
				s.Ask((pilot+1)%5, "DEL", "a")
				s.Ask((pilot+2)%5, "DEL", "a")
				time.Sleep(1400 * time.Millisecond)
				synctest.Wait()
				if q.has() {
					t.Fatal("it has a lock that another holds on three of the masters")
				}
				time.Sleep(quarantine())
				unlock(t, q.mustHave(t))
			})
		})
	}
}

// With GuardStrict the holder's lease keeps others out when its keys are gone. The answer does not
// tell a waiting set which key is leased. The set does not ask again and again: it looks, as while
// a key is taken.
func TestASetThatMeetsALeaseWaits(t *testing.T) {
	inUnguardedSim(t, 5, func(t *testing.T, s *sim) {
		s.opts = append(s.opts, redlock.WithStrict(), redlock.WithTTL(time.Minute))
		held := kindsOfHolders["set"](s, s.open())
		q := all.waits(s, s.open())
		time.Sleep(time.Second)
		s.do("DEL", "a", "b")
		asked := func() (n int) {
			for _, m := range s.All {
				n += m.Commands()["EVALSHA"]
			}
			return n
		}
		before := asked()
		time.Sleep(5 * time.Second)
		if q.has() {
			t.Fatal("it has what is leased to another")
		}
		// Every 50 to 250 ms it looks and asks a pilot once, and sometimes it asks all masters.
		if n := asked() - before; n > 300 {
			t.Errorf("%d questions in 5s", n)
		}
		_ = held[0].Unlock(t.Context())
		within(t, maxRetry, func() { unlock(t, q.mustHave(t)) })
		s.wantNoLocks()
	})
}
