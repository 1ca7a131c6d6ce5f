package redlock_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

// Masters may be on another continent. Callers lock, extend and unlock there as they do nearby,
// whenever they come: a master whose answer takes long is not silent.
func TestLocksAtMastersThatAreFarAway(t *testing.T) {
	for level, opts := range map[string][]redlock.Option{
		"standard": nil, "strict": {redlock.WithGuard(redlock.GuardStrict)}, "off": {redlock.WithGuard(redlock.GuardOff)},
	} {
		for _, trip := range []time.Duration{260 * time.Millisecond, 450 * time.Millisecond, 600 * time.Millisecond, 900 * time.Millisecond} {
			t.Run(fmt.Sprint(level, " ", trip), func(t *testing.T) {
				inSim(t, 5, func(t *testing.T, s *sim) {
					s.opts = append(s.opts, opts...)
					if level == "strict" {
						if err := s.open().Init(t.Context()); err != nil {
							t.Fatal(err)
						}
					} else if level == "standard" {
						s.open() // declares the fleet
					}
					s.placeAway(func(i int) time.Duration { return trip + time.Duration(i)*time.Millisecond })
					log := &logBuffer{}
					c := s.openReady(redlock.WithTTL(30*time.Second), redlock.WithLogger(log.logger()))
					var callers sync.WaitGroup
					for n := range 10 {
						callers.Go(func() { lockFarAway(t, c, fmt.Sprint("key-", n), time.Duration(n)*131*time.Millisecond) })
					}
					callers.Wait()
					if text := log.String(); strings.Contains(text, "level=WARN") || strings.Contains(text, "level=ERROR") {
						t.Errorf("the log has warnings:\n%s", text)
					}
					if err := c.Close(); err != nil {
						t.Error(err)
					}
					time.Sleep(2 * trip)
					s.wantClean()
				})
			})
		}
	}
}

// lockFarAway does everything that can be done with a lock, with pauses in between.
func lockFarAway(t *testing.T, c *redlock.Client, key string, pause time.Duration) {
	for range 2 {
		for _, lock := range []func(context.Context, string, ...redlock.LockOption) (*redlock.Lock, error){c.Lock, c.TryLock} {
			time.Sleep(pause)
			l, err := lock(t.Context(), key)
			if err != nil {
				t.Error(err)
				continue
			}
			for _, use := range []func(context.Context) error{l.Extend, l.Verify, l.Unlock} {
				time.Sleep(pause)
				if err := use(t.Context()); err != nil {
					t.Error(err)
				}
			}
		}
		time.Sleep(pause)
		if err := c.Do(t.Context(), key, func(ctx context.Context) error { return ctx.Err() }); err != nil {
			t.Error(err)
		}
	}
}

// A process that has just started takes over a lock: it adopts before it was ever connected.
func TestALockIsAdoptedRightAfterOpenFromMastersThatAreFarAway(t *testing.T) {
	for _, trip := range []time.Duration{100 * time.Millisecond, 150 * time.Millisecond} {
		inSim(t, 3, func(t *testing.T, s *sim) {
			token := handedOver(t, mustLock(t, s.open(), "key"))
			s.placeAway(func(int) time.Duration { return trip })
			unlock(t, s.must(s.open().Adopt(t.Context(), "key", token)))
		})
	}
}

// An adoption whose answers cannot come in time would use up the token for nothing.
func TestAnAdoptionThatWouldComeTooLateLeavesTheToken(t *testing.T) {
	inSim(t, 3, func(t *testing.T, s *sim) {
		token := handedOver(t, mustLock(t, s.open(), "key", redlock.WithTTL(10*time.Second)))
		s.placeAway(func(int) time.Duration { return 220 * time.Millisecond })
		c := s.openReady()
		_, err := c.Adopt(t.Context(), "key", token, redlock.WithTTL(4*time.Second)) // it waits for 200 ms at most
		wantExactly(t, err, redlock.ErrNoQuorum)
		time.Sleep(time.Second) // let the commands arrive
		for i := range 3 {
			if stands, _ := s.Ask(i, "GET", "key").([]byte); string(stands) != token {
				t.Errorf("master %d has %q, want the token", i, stands)
			}
		}
		unlock(t, s.must(c.Adopt(t.Context(), "key", token, redlock.WithTTL(10*time.Second)))) // it waits for 500 ms at most
	})
}

// The quorum consists of masters that are up: a near master that is down does not count.
func TestOperationsWaitForTheFarMasterOfTheQuorumThatIsUp(t *testing.T) {
	inSim(t, 3, func(t *testing.T, s *sim) {
		s.open() // declares the fleet
		s.placeAway(func(i int) time.Duration {
			return []time.Duration{time.Millisecond, time.Millisecond, 400 * time.Millisecond}[i]
		})
		c := s.openReady(redlock.WithTTL(30 * time.Second))
		time.Sleep(2 * time.Second)
		s.Kill(1)
		time.Sleep(2 * time.Second)
		l := mustLock(t, c, "key")
		for name, use := range map[string]func(context.Context) error{"Extend": l.Extend, "Verify": l.Verify} {
			if err := use(t.Context()); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		unlock(t, l)
	})
}
