package redlock_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

// A hold that ends as its options say has ended for its holder as any other, but logs and metrics
// do not count it as a loss. The way it ended does not change later.
func TestPlannedEndOfAHoldIsMarkedAsPlanned(t *testing.T) {
	const expired, taken, unreachable = redlock.ReasonExpired, redlock.ReasonTaken, redlock.ReasonUnreachable
	renewal := redlock.WithRenewal
	die := func(s *sim) { s.Kill(0, 1, 2) }
	for _, test := range []struct {
		name    string
		opt     redlock.LockOption
		after   func(s *sim)
		planned bool
		reason  redlock.Reason
	}{
		{"a lease", redlock.WithLease(5 * time.Second), nil, true, expired},
		{"MaxCount", renewal(redlock.Renewal{MaxCount: 2}), nil, true, expired},
		{"MaxHold", renewal(redlock.Renewal{MaxHold: 20 * time.Second}), nil, true, expired},
		{"MaxHold below the first renewal", renewal(redlock.Renewal{MaxHold: time.Second}), nil, true, expired},
		{"a lease whose masters die", redlock.WithLease(5 * time.Second), die, true, expired},
		{"masters that die before MaxHold", renewal(redlock.Renewal{MaxHold: time.Minute}), die, false, unreachable},
		{"masters that die before MaxCount", renewal(redlock.Renewal{MaxCount: 9}), die, false, unreachable},
		{"masters that freeze", redlock.WithTTL(5 * time.Second), func(s *sim) { s.Freeze(0, 1, 2) }, false, unreachable},
		{"masters that forget", redlock.WithTTL(5 * time.Second), func(s *sim) { s.do("FLUSHALL") }, false, expired},
		{"a thief", redlock.WithTTL(5 * time.Second), func(s *sim) { s.do("SET", "key", "thief") }, false, taken},
		// Any three answers decide this, and at least one of them says so.
		{"a thief on three, and the others forget", redlock.WithTTL(5 * time.Second), func(s *sim) {
			s.do("FLUSHALL")
			for i := range 3 {
				s.Ask(i, "SET", "key", "thief")
			}
		}, false, taken},
	} {
		t.Run(test.name, func(t *testing.T) {
			inUnguardedSim(t, 5, func(t *testing.T, s *sim) {
				log := new(logBuffer)
				var ends []string
				var losses []bool
				c := s.open(redlock.WithLogger(log.logger()), redlock.WithTrace(&redlock.Trace{
					Released: func(i redlock.ReleasedInfo) { ends = append(ends, endOf(&i)) },
					Lost:     func(_ *redlock.Lock, err *redlock.LostError) { losses = append(losses, err.Planned) },
				}))
				l := mustLock(t, c, "key", test.opt)
				if test.after != nil {
					test.after(s)
				}
				<-l.Context().Done()
				synctest.Wait()
				cause := context.Cause(l.Context())
				wantExactly(t, cause, redlock.ErrLost)
				lost, ok := errors.AsType[*redlock.LostError](cause)
				if !ok || lost.Planned != test.planned || lost.Reason != test.reason || (lost.Err == nil) != test.planned {
					t.Fatalf("the cause is %+v", lost)
				}
				end := "lost"
				if test.planned {
					end = "planned"
				}
				if len(ends) != 1 || ends[0] != end || len(losses) != 1 || losses[0] != test.planned {
					t.Errorf("told: ended as %v, lost as planned %v: want %v, %v", ends, losses, end, test.planned)
				}
				const text = `redlock: lock "key" lost: expired as planned (WithLease, MaxHold or MaxCount)`
				if (cause.Error() == text) != test.planned {
					t.Errorf("the cause is %q", cause)
				}
				if warned := strings.Contains(log.String(), `level=WARN msg="lock lost"`); warned == test.planned {
					t.Errorf("the log says:\n%s", log)
				}

				// All masters work again: the lock stays lost.
				s.Thaw(0, 1, 2)
				for i, m := range s.All {
					if !m.Up() {
						s.Restart(true, i)
					}
					_ = m.Set("key", l.Token(), time.Hour)
				}
				time.Sleep(5 * time.Second)
				wantExactly(t, l.Extend(t.Context()), redlock.ErrLost, redlock.ErrNotHeld)
				_ = c.Close()
				wantReason(t, l.Unlock(t.Context()), test.reason)
				if again := context.Cause(l.Context()); !errors.Is(again, cause) {
					t.Errorf("the cause was %v and is %v", cause, again)
				}
			})
		})
	}
}
