package redlock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

// Each row says what happens to a lock, and exactly which sentinels the next operations match.
func TestEveryOperationMatchesItsSentinelsAndNoOthers(t *testing.T) {
	t.Parallel()
	unlocked := []error{redlock.ErrNotHeld, redlock.ErrUnlocked}
	lost := []error{redlock.ErrNotHeld, redlock.ErrLost}
	closed := []error{redlock.ErrNotHeld, redlock.ErrLost, redlock.ErrClosed}
	outage := []error{redlock.ErrNoQuorum}
	lease := redlock.WithLease(time.Minute)
	for name, test := range map[string]struct {
		opts    []redlock.LockOption
		happens func(s *sim, c *redlock.Client, l *redlock.Lock)
		// These are what each operation matches, as the first one after the event; nil: it
		// succeeds.
		extend, verify, unlock, handOver []error
		// The cause of the lock's context at the end.
		cause []error
	}{
		"held": {
			happens: func(*sim, *redlock.Client, *redlock.Lock) {},
			cause:   []error{redlock.ErrUnlocked},
		},
		"unlocked": {
			happens: func(s *sim, _ *redlock.Client, l *redlock.Lock) { unlock(s.T, l) },
			extend:  unlocked, verify: unlocked, unlock: unlocked, handOver: unlocked,
			cause: []error{redlock.ErrUnlocked},
		},
		"handed over": {
			happens: func(s *sim, _ *redlock.Client, l *redlock.Lock) {
				if _, err := l.HandOver(); err != nil {
					s.T.Fatal(err)
				}
			},
			extend: unlocked, verify: unlocked, unlock: unlocked, handOver: unlocked,
			cause: []error{redlock.ErrUnlocked},
		},
		"expired": {
			opts: []redlock.LockOption{redlock.WithLease(500 * time.Millisecond)},
			happens: func(s *sim, _ *redlock.Client, l *redlock.Lock) {
				s.eventually("the lease is over", func() bool { return l.Remaining() == 0 })
			},
			extend: lost, verify: lost, unlock: lost, handOver: lost,
			cause: []error{redlock.ErrLost},
		},
		"flushed from all masters": {
			opts:    []redlock.LockOption{lease},
			happens: func(s *sim, _ *redlock.Client, _ *redlock.Lock) { s.do("FLUSHALL") },
			// HandOver asks nobody.
			extend: lost, verify: lost, unlock: lost,
		},
		"three masters down": {
			opts: []redlock.LockOption{lease},
			happens: func(s *sim, c *redlock.Client, _ *redlock.Lock) {
				s.Kill(0, 1, 2)
			},
			extend: outage, verify: outage, unlock: outage,
		},
		"client closed": {
			happens: func(_ *sim, c *redlock.Client, _ *redlock.Lock) { _ = c.Close() },
			extend:  closed, verify: closed, unlock: closed, handOver: closed,
			cause: []error{redlock.ErrLost, redlock.ErrClosed},
		},
	} {
		t.Run(name, func(t *testing.T) {
			inUnguardedCleanSim(t, 5, func(t *testing.T, s *sim) {
				for _, op := range []struct {
					name string
					do   func(l *redlock.Lock) error
					want []error
				}{
					{"Extend", func(l *redlock.Lock) error { return l.Extend(t.Context()) }, test.extend},
					{"Verify", func(l *redlock.Lock) error { return l.Verify(t.Context()) }, test.verify},
					{"Unlock", func(l *redlock.Lock) error { return l.Unlock(t.Context()) }, test.unlock},
					{"HandOver", func(l *redlock.Lock) error { _, err := l.HandOver(); return err }, test.handOver},
				} {
					t.Log(op.name)
					c := s.open()
					l := s.lock(c, "key", test.opts...)
					test.happens(s, c, l)
					err := op.do(l)
					if len(op.want) > 0 {
						wantExactly(t, err, op.want...)
					} else if err != nil {
						t.Errorf("%v, want success", err)
					}
					over := op.name == "Unlock" || op.name == "HandOver"
					if errors.Is(err, redlock.ErrNoQuorum) && !over && (l.Remaining() == 0 || l.Context().Err() != nil) {
						t.Error("an operation without a quorum ended the hold")
					}
					if errors.Is(err, redlock.ErrLost) && name == "flushed from all masters" {
						wantReason(t, err, redlock.ReasonExpired)
					}
					if err == nil && over || errors.Is(err, redlock.ErrNoQuorum) && over {
						wantExactly(t, l.Unlock(t.Context()), unlocked...)
					}
					if name == "three masters down" {
						s.Restart(true, 0, 1, 2)
						time.Sleep(2 * time.Second) // connected again
					}
					if errors.Is(err, redlock.ErrNoQuorum) && !over {
						unlock(t, l) // the hold still exists
					}
					_ = l.Unlock(t.Context()) // whatever it says: nothing may be left
					wantExactly(t, l.Context().Err(), context.Canceled)
					if test.cause != nil {
						wantExactly(t, context.Cause(l.Context()), test.cause...)
					}
					if l.Remaining() != 0 {
						t.Errorf("Remaining is %v", l.Remaining())
					}
					if op.name == "HandOver" || name == "handed over" {
						s.do("DEL", "key") // nobody adopts it
					}
					s.eventually("the release has come, also where it was kept", func() bool { return len(s.keys()) == 0 })
				}
			})
		})
	}
}
