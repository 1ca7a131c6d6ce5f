package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

// Three of five masters decide a refusal. The error also names the other two, as not awaited; they
// do not change what the error matches.
func TestARefusalNamesEveryMasterAlsoThoseThatWereNotAwaited(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		mustLock(t, s.open(), "key")
		other := s.open()
		s.Freeze(1, 3)
		_, err := other.TryLock(t.Context(), "key")
		wantExactly(t, err, redlock.ErrTaken)
		if errors.Is(err, pool.ErrTimeout) {
			t.Errorf("%v matches a time-out: nobody was waited for", err)
		}
		q, _ := errors.AsType[*redlock.QuorumError](err)
		if q == nil || q.OK != 0 || q.Need != 3 || q.Total != 5 || q.Nodes.Len() != 5 {
			t.Fatalf("%+v", q)
		}
		for i, e := range q.Nodes.Errors {
			n, _ := errors.AsType[*redlock.NodeError](e)
			if n == nil || n.Master != s.All[i].Addr() || n.Op != "lock" {
				t.Errorf("cause %d is %+v", i, n)
				continue
			}
			if silent := i == 1 || i == 3; errors.Is(n, redlock.ErrNotAwaited) != silent {
				t.Errorf("master %d is named for %v", i, n.Err)
			}
		}
		if want := "0 of 5 masters agreed, 2 not awaited, 3 needed"; !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
		s.Thaw(1, 3)

		// A call that waits has the pilot's answer alone.
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = other.Lock(ctx, "key")
		wantExactly(t, err, redlock.ErrTaken, context.DeadlineExceeded)
		if q, _ := errors.AsType[*redlock.QuorumError](err); q == nil || q.Nodes.Len() != 5 {
			t.Errorf("%v does not name all masters", err)
		}
	})
}

// A majority that hangs is noticed after the masters' timeout, or at the end of the lock's validity
// if that comes first.
func TestThreeFrozenMastersAreNoQuorumWithinTheTimeout(t *testing.T) {
	for _, test := range []struct {
		timeout, ttl, want time.Duration
	}{{0, 10 * time.Second, 500 * time.Millisecond}, {5 * time.Second, 100 * time.Millisecond, 97 * time.Millisecond}} {
		inSim(t, 5, func(t *testing.T, s *sim) {
			var opts []redlock.Option
			if test.timeout > 0 {
				opts = append(opts, redlock.WithPool(pool.WithCommandTimeout(test.timeout)))
			}
			c := s.open(opts...)
			s.Freeze(0, 2, 4)
			began := time.Now()
			_, err := c.TryLock(t.Context(), "key", redlock.WithLease(test.ttl))
			wantExactly(t, err, redlock.ErrNoQuorum)
			if took := time.Since(began); took != test.want {
				t.Errorf("gave up after %v, want %v", took, test.want)
			}
			q, _ := errors.AsType[*redlock.QuorumError](err)
			if q == nil || q.OK != 2 || q.Need != 3 || q.Total != 5 || q.Nodes.Len() != 3 {
				t.Fatalf("%+v", q)
			}
			for _, e := range q.Nodes.Errors {
				if !errors.Is(e, pool.ErrTimeout) {
					t.Errorf("cause %v: want a timeout", e)
				}
			}
			s.Thaw(0, 2, 4)
			s.wantClean()
		})
	}
}

// An attempt that cannot succeed any more ends at once, whatever the other masters do. It does not
// wait for a master that hangs, also if the number of masters is even.
func TestAnImpossibleQuorumIsReportedAtOnceAlsoWhileAMasterHangs(t *testing.T) {
	for _, test := range []struct {
		masters           int
		taken, down, hung []int
		want              error
	}{
		{2, nil, []int{0}, []int{1}, redlock.ErrNoQuorum},
		{4, []int{0, 1}, nil, []int{2}, redlock.ErrTaken},
		{5, []int{2, 3}, []int{4}, []int{0, 1}, redlock.ErrTaken},
		{5, nil, []int{2, 3, 4}, []int{0, 1}, redlock.ErrNoQuorum},
		{6, nil, []int{3, 4, 5}, []int{0, 1}, redlock.ErrNoQuorum},
		{6, []int{1, 2}, []int{5}, []int{0, 3}, redlock.ErrTaken},
	} {
		t.Run(fmt.Sprintf("%d masters, taken on %v, down %v, hung %v", test.masters, test.taken, test.down, test.hung), func(t *testing.T) {
			inUnguardedCleanSim(t, test.masters, func(t *testing.T, s *sim) {
				c := s.open(redlock.WithPool(pool.WithCommandTimeout(time.Second), pool.WithStallLimit(time.Minute)))
				s.foreign("key", test.taken...)
				s.Kill(test.down...)
				s.Freeze(test.hung...)
				for range 10 {
					within(t, 0, func() {
						_, err := c.TryLock(t.Context(), "key")
						wantExactly(t, err, test.want)
						if q, ok := errors.AsType[*redlock.QuorumError](err); !ok || q.Elapsed != 0 {
							t.Errorf("the attempt took too long by its own account: %+v", q)
						}
					})
				}
				s.Thaw(test.hung...)
				for _, i := range test.taken {
					if v := s.value(i, "key"); v != stranger {
						t.Errorf("master %d: the stranger's key is %q now", i, v)
					}
					s.doOn([]int{i}, "DEL", "key")
				}
				s.wantFree("key")
			})
		})
	}
}

// A quorum that answers after the validity has run out gives no lock, and is released.
func TestAQuorumWithoutValidityLeftIsNoQuorum(t *testing.T) {
	inSim(t, 3, func(t *testing.T, s *sim) {
		c := s.open(redlock.WithClock(&leapingClock{}))
		_, err := c.TryLock(t.Context(), "key")
		wantExactly(t, err, redlock.ErrNoQuorum)
		s.wantClean()
	})
}
