package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

// Every way to wait ends after the given time, as if its context had ended, and says whether the
// lock is taken or there is no quorum. The caller's own context has not ended. WithWait does not
// bound a call that does not wait, nor the work.
func TestWithWaitBoundsTheWaitingOfAllKinds(t *testing.T) {
	inSim(t, 3, func(t *testing.T, s *sim) {
		holder, c := s.open(), s.open(redlock.WithWait(200*time.Millisecond))
		for _, key := range ab {
			mustLock(t, holder, key)
		}
		ways := map[string][]redlock.LockOption{"it queues": nil, "it polls": {redlock.WithTries(1_000_000)}, "it is fair": {redlock.WithFairness()}}
		for _, k := range kinds {
			within(t, soon, func() {
				_, err := k.try(c, t.Context(), ab)
				wantExactly(t, err, redlock.ErrTaken)
			})
			for way, opts := range ways {
				for _, wait := range []time.Duration{0, 3 * time.Second} {
					want := 200 * time.Millisecond // the client's
					if wait > 0 {
						opts, want = append(opts, redlock.WithWait(wait)), wait
					}
					began := time.Now()
					_, err := k.lock(c, t.Context(), ab, opts...)
					if !errors.Is(err, redlock.ErrTaken) || !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("%s, %s: %v, want ErrTaken and DeadlineExceeded", k.name, way, err)
					}
					if took := time.Since(began); took < want || took > want+time.Second {
						t.Errorf("%s, %s: it took %v, want %v", k.name, way, took, want)
					}
				}
			}
		}
		err := c.Do(t.Context(), "key", func(ctx context.Context) error {
			time.Sleep(time.Minute)
			return ctx.Err()
		})
		if err != nil {
			t.Error(err)
		}
		s.Kill(0, 1)
		_, err = c.Lock(t.Context(), ab[0])
		if !errors.Is(err, redlock.ErrNoQuorum) || !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, redlock.ErrTaken) {
			t.Errorf("%v, want ErrNoQuorum and DeadlineExceeded", err)
		}
	})
}

// turnComes makes a call wait behind others of its client, for keys that a stranger holds, until
// the others give up. Its wait ends left after that; happens runs before that. It returns its
// error.
func (s *sim) turnComes(k kind, left, before time.Duration, happens func()) error {
	s.T.Helper()
	c := s.openReady()
	for _, key := range ab {
		s.foreign(key, 0, 1, 2)
	}
	others := []*queuer{k.waits(s, c), s.queue(c, ab[0]), s.queue(c, ab[1])} // one of them is the first
	time.Sleep(100 * time.Millisecond)
	const stands = 2 * time.Second
	began := time.Now()
	q := k.waits(s, c, redlock.WithWait(stands+left))
	time.Sleep(stands - before - time.Since(began))
	happens()
	time.Sleep(stands - time.Since(began))
	for _, other := range others {
		other.cancel()
	}
	<-q.done
	return q.err
}

// Waiting behind other calls of the client counts as a refusal, not as an outage, even if the
// call's first attempt is cut off.
func TestWaitBehindCallsOfTheSameClientEndsWithErrTaken(t *testing.T) {
	for _, k := range append(kinds, slot) {
		for left := time.Millisecond; left <= 3*away; left += 3 * time.Millisecond {
			t.Run(fmt.Sprint(k.name, " ", left), func(t *testing.T) {
				inUnguardedFarSim(t, 3, func(t *testing.T, s *sim) {
					err := s.turnComes(k, left, 0, func() { s.do("DEL", "a", "b") })
					if err != nil {
						wantExactly(t, err, redlock.ErrTaken, context.DeadlineExceeded)
					}
				})
			})
		}
	}
}

// If an outage has begun when the call's turn comes, its error says so.
func TestWaitBehindCallsOfTheSameClientReportsAnOutage(t *testing.T) {
	for name, test := range map[string]struct {
		before  time.Duration
		happens func(s *sim)
	}{
		"two are dead":         {0, func(s *sim) { s.Kill(0, 1) }},
		"all have been silent": {1500 * time.Millisecond, func(s *sim) { s.Freeze(0, 1, 2) }},
	} {
		for _, k := range append(kinds, slot) {
			t.Run(fmt.Sprint(name, ", ", k.name), func(t *testing.T) {
				inFarSim(t, 3, func(t *testing.T, s *sim) {
					err := s.turnComes(k, away, test.before, func() { test.happens(s) })
					wantExactly(t, err, redlock.ErrNoQuorum, context.DeadlineExceeded)
				})
			})
		}
	}
}
