package redlock_test

import (
	"context"
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

// No call waits for something that only a change of a configuration can repair. The error does not
// call it an outage of the masters.
func TestNeitherLockNorReadyWaitsWhereThatCannotHelp(t *testing.T) {
	lock := func(opts ...redlock.LockOption) func(c *redlock.Client, ctx context.Context) error {
		return func(c *redlock.Client, ctx context.Context) error { _, err := c.Lock(ctx, "key", opts...); return err }
	}
	asks := map[string]func(c *redlock.Client, ctx context.Context) error{
		"Ready": (*redlock.Client).Ready, "waiting": lock(), "with tries": lock(redlock.WithTries(10)),
		"polling": lock(redlock.WithBackoff(func(int) time.Duration { return time.Second })),
	}
	inSim(t, 5, func(t *testing.T, s *sim) {
		mustLock(t, s.open(), "other") // the fleet is known
		names := fmt.Sprintf("%s (master 1), %s (master 2), %s (master 3): ", s.All[0].Addr(), s.All[1].Addr(), s.All[2].Addr())
		for _, test := range []struct {
			open  func() *redlock.Client
			wants []string
		}{
			{func() *redlock.Client { return s.openAsNobody(3) }, []string{names, "password refused (the master is up): AUTH as nobody: ", "; mend its credentials"}},
			{func() *redlock.Client { return s.open(redlock.WithMaxTTL(30 * time.Second)) }, []string{
				"give all programs that lock the same keys the same settings and database, and unrelated ones another database; redlock init",
			}},
		} {
			for name, ask := range asks {
				c := test.open()
				var err error
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				within(t, 250*time.Millisecond, func() { err = ask(c, ctx) })
				cancel()
				wantExactly(t, err, redlock.ErrNoQuorum)
				for _, want := range test.wants {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("%s: %v does not say %q", name, err, want)
					}
				}
				if strings.Contains(err.Error(), "is down") || strings.Contains(err.Error(), "secret") {
					t.Errorf("%s: the error says %v", name, err)
				}
			}
		}
	})
}

// Nothing is known of the masters yet, so the error does not send anybody to look at them.
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

// Credentials are asked for at every dial, so they may be others by then.
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

// With two of five masters misconfigured and a third one down, there is a quorum again once the
// third is back. So the call waits for it.
func TestLockAndReadyWaitWhereMisconfiguredMastersAloneDoNotRuleAQuorumOut(t *testing.T) {
	inUnguardedSim(t, 5, func(t *testing.T, s *sim) {
		c := s.openAsNobody(2)
		for _, ask := range []func(context.Context) error{c.Ready, func(ctx context.Context) error { _, err := c.Lock(ctx, "key"); return err }} {
			s.Kill(4)
			time.AfterFunc(time.Second, func() { s.Restart(true, 4) })
			took := within(t, 3*time.Second, func() {
				if err := ask(t.Context()); err != nil {
					t.Error(err)
				}
			})
			if took < time.Second {
				t.Errorf("it waited for %v", took)
			}
		}
	})
}
