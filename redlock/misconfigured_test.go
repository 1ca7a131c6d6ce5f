package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

// openAsNobody makes a client whose password the first n masters refuse.
func (s *sim) openAsNobody(n int, opts ...redlock.Option) *redlock.Client {
	s.T.Helper()
	urls := s.URLs()
	for i := range n {
		urls[i] = strings.Replace(urls[i], "redis://", "redis://nobody:secret@", 1)
	}
	return s.openAt(urls, opts...)
}

// Nobody is kept waiting for what only somebody who changes a configuration can
// mend. Nor is it called an outage of the masters.
func TestLockFailsAtOnceWhenRefusedPasswordsRuleAQuorumOut(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		mustLock(t, s.open(), "other") // the fleet is known
		for name, opts := range map[string][]redlock.LockOption{
			"waiting": nil, "polling": {redlock.WithBackoff(func(int) time.Duration { return time.Second })}, "with tries": {redlock.WithTries(10)},
		} {
			c := s.openAsNobody(3)
			var err error
			within(t, 250*time.Millisecond, func() { _, err = c.Lock(t.Context(), "key", opts...) })
			wantExactly(t, err, redlock.ErrNoQuorum)
			names := fmt.Sprintf("%s (master 1), %s (master 2), %s (master 3): ", s.All[0].Addr(), s.All[1].Addr(), s.All[2].Addr())
			for _, want := range []string{names + "password refused (the master is up): AUTH as nobody: ", "; mend its credentials"} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%s: %v does not say %q", name, err, want)
				}
			}
			if strings.Contains(err.Error(), "is down") || strings.Contains(err.Error(), "secret") {
				t.Errorf("%s: the error says %v", name, err)
			}
		}
	})
}

// With two of five misconfigured a quorum can be had again once a third master
// that is down is back, so that is waited for.
func TestLockWaitsWhereMisconfiguredMastersAloneDoNotRuleAQuorumOut(t *testing.T) {
	inUnguardedSim(t, 5, func(t *testing.T, s *sim) {
		s.Kill(4)
		c := s.openAsNobody(2, redlock.WithGuard(redlock.GuardOff))
		time.AfterFunc(time.Second, func() { s.Restart(true, 4) })
		within(t, 3*time.Second, func() {
			if _, err := c.Lock(t.Context(), "key"); err != nil {
				t.Error(err)
			}
		})
	})
}

// Nothing is known of the masters then, so nobody is sent to look at them.
func TestAnAttemptSaysWhatAFirstConnectionWaitsForAndNotThatTheMasterIsDown(t *testing.T) {
	for text, blocks := range map[string]pool.Option{
		"waiting for credentials": pool.WithCredentials(func(ctx context.Context) (string, string, error) {
			<-ctx.Done()
			return "", "", ctx.Err()
		}),
		"still connecting": pool.WithDialer(func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}),
	} {
		for _, level := range []redlock.GuardLevel{redlock.GuardOff, redlock.GuardStandard, redlock.GuardStrict} {
			inSim(t, 3, func(t *testing.T, s *sim) {
				c := s.open(redlock.WithGuard(level), redlock.WithPool(blocks))
				for name, ask := range map[string]func(context.Context) error{
					"TryLock": func(ctx context.Context) error { _, err := c.TryLock(ctx, "key"); return err },
					"Lock":    func(ctx context.Context) error { _, err := c.Lock(ctx, "key"); return err },
					"Ready":   c.Ready,
				} {
					ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond) // within the first dial
					err := ask(ctx)
					cancel()
					if err == nil || strings.Contains(err.Error(), "is down") || level != redlock.GuardOff && !strings.Contains(err.Error(), text) {
						t.Errorf("%v, %s: error %v, want one that says %q", level, name, err, text)
					}
				}
			})
		}
	}
}

// Credentials that are asked for at every dial may be others by then.
func TestLockWaitsForCredentialsThatMayChange(t *testing.T) {
	inUnguardedSim(t, 3, func(t *testing.T, s *sim) {
		began := time.Now()
		c := s.open(redlock.WithPool(pool.WithCredentials(func(context.Context) (string, string, error) {
			if time.Since(began) < time.Second {
				return "nobody", "secret", nil
			}
			return "", "", nil
		})))
		within(t, 3*time.Second, func() {
			if _, err := c.Lock(t.Context(), "key"); err != nil {
				t.Error(err)
			}
		})
	})
}

func TestLockFailsAtOnceOnMastersOfAnotherFleet(t *testing.T) {
	inSim(t, 3, func(t *testing.T, s *sim) {
		mustLock(t, s.open(), "other")
		c := s.open(redlock.WithMaxTTL(30 * time.Second))
		var err error
		within(t, 250*time.Millisecond, func() { _, err = c.Lock(t.Context(), "key") })
		wantExactly(t, err, redlock.ErrNoQuorum)
		if !strings.Contains(err.Error(), "give all programs that lock the same keys the same settings and database, and unrelated ones another database; redlock init") {
			t.Errorf("the error says %v", err)
		}
	})
}

// What Lock does not wait for, Ready does not wait for either, though its context has not ended.
func TestReadyFailsAtOnceWhereWaitingCannotHelp(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		mustLock(t, s.open(), "other") // the fleet is known
		for want, c := range map[string]*redlock.Client{
			"password refused (the master is up): AUTH as nobody: ":       s.openAsNobody(3),
			"give all programs that lock the same keys the same settings": s.open(redlock.WithMaxTTL(30 * time.Second)),
		} {
			var err error
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			within(t, 250*time.Millisecond, func() { err = c.Ready(ctx) })
			cancel()
			wantExactly(t, err, redlock.ErrNoQuorum)
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%v does not say %q", err, want)
			}
		}
	})
}

func TestReadyWaitsForMastersThatCannotBeReached(t *testing.T) {
	inUnguardedSim(t, 5, func(t *testing.T, s *sim) {
		s.Kill(3, 4)
		c := s.openAsNobody(2, redlock.WithGuard(redlock.GuardOff))
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if err := c.Ready(ctx); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, redlock.ErrNoQuorum) {
			t.Errorf("error %v, want that the context has ended", err)
		}
		time.AfterFunc(time.Second, func() { s.Restart(true, 3, 4) })
		within(t, 5*time.Second, func() {
			if err := c.Ready(t.Context()); err != nil {
				t.Error(err)
			}
		})
	})
}
