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

// A hold that ends as it was asked to is over for its holder as any other, and no
// loss for whoever watches.
func TestAHoldThatEndsAsItWasAskedToIsToldFromALoss(t *testing.T) {
	renewal := redlock.WithRenewal
	for _, test := range []struct {
		name    string
		opt     redlock.LockOption
		after   func(s *sim)
		planned bool
	}{
		{"a lease", redlock.WithLease(5 * time.Second), nil, true},
		{"MaxCount", renewal(redlock.Renewal{MaxCount: 2}), nil, true},
		{"MaxHold", renewal(redlock.Renewal{MaxHold: 20 * time.Second}), nil, true},
		{"MaxHold below the first renewal", renewal(redlock.Renewal{MaxHold: time.Second}), nil, true},
		{"a lease whose masters die", redlock.WithLease(5 * time.Second), func(s *sim) { s.Kill(0, 1, 2) }, true},
		{"masters that die before MaxHold", renewal(redlock.Renewal{MaxHold: time.Minute}), func(s *sim) { s.Kill(0, 1, 2) }, false},
		{"masters that die before MaxCount", renewal(redlock.Renewal{MaxCount: 9}), func(s *sim) { s.Kill(0, 1, 2) }, false},
		{"masters that die", redlock.WithTTL(5 * time.Second), func(s *sim) { s.Kill(0, 1, 2) }, false},
		{"masters that forget", redlock.WithTTL(5 * time.Second), func(s *sim) { s.do("FLUSHALL") }, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			inUnguardedSim(t, 5, func(t *testing.T, s *sim) {
				log := new(logBuffer)
				var ends []redlock.HoldEnd
				var losses []bool
				c := s.open(redlock.WithLogger(log.logger()), redlock.WithTrace(&redlock.Trace{
					Released: func(i redlock.ReleasedInfo) { ends = append(ends, i.End) },
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
				if !ok || lost.Planned != test.planned {
					t.Fatalf("the cause is %+v", lost)
				}
				end := redlock.EndLost
				if test.planned {
					end = redlock.EndPlanned
					if lost.Reason != redlock.ReasonExpired || lost.Err != nil {
						t.Errorf("the cause is %+v", lost)
					}
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
			})
		})
	}
}

// A lease that the masters lose before its time is lost.
func TestALeaseThatIsTakenBeforeItsTimeIsLost(t *testing.T) {
	inUnguardedSim(t, 3, func(t *testing.T, s *sim) {
		l := mustLock(t, s.open(), "key", redlock.WithLease(time.Minute))
		s.do("SET", "key", "thief")
		wantExactly(t, l.Verify(t.Context()), redlock.ErrLost, redlock.ErrNotHeld)
		lost, ok := errors.AsType[*redlock.LostError](context.Cause(l.Context()))
		if !ok || lost.Planned || lost.Reason != redlock.ReasonTaken {
			t.Errorf("the cause is %+v", lost)
		}
	})
}
