package redlock_test

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

// inColdSim is inSim for a fleet that is declared, whose masters are away: a dial takes as
// long as a command.
func inColdSim(t *testing.T, n int, test func(t *testing.T, s *sim)) {
	t.Helper()
	inSim(t, n, func(t *testing.T, s *sim) {
		c := s.guarded()
		unlock(t, mustLock(t, c, "before"))
		_ = c.Close() // nobody who lives has seen the fleet
		s.opts = append(s.opts, redlock.WithPool(pool.WithDialer(s.coldDial)))
		test(t, s)
	})
}

// coldDial dials a master that is away.
func (s *sim) coldDial(ctx context.Context, network, addr string) (net.Conn, error) {
	select {
	case <-time.After(away):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	conn, err := s.Dialer()(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return newFarConn(conn, func() time.Duration { return away }), nil
}

// sets is how many locks were asked for by SET, which only judged masters are.
func (s *sim) sets() (n int) {
	for _, m := range s.All {
		n += m.Commands()["SET"]
	}
	return n
}

// One to connect, and one for all else: the handshake, the guard's questions and the lock.
func TestTheFirstLockTakesTwoRoundTrips(t *testing.T) {
	for name, broken := range map[string]int{"all masters up": 0, "two of five down": 2} {
		t.Run(name, func(t *testing.T) {
			inColdSim(t, 5, func(t *testing.T, s *sim) {
				for i := range broken {
					s.Kill(i)
				}
				var asked, replies atomic.Int32
				c := s.guarded(redlock.WithTrace(&redlock.Trace{
					Wait:  func(i redlock.WaitInfo) { asked.Add(int32(i.Attempts)) }, //nolint:gosec // few
					Reply: func(redlock.ReplyInfo) { replies.Add(1) },
				}))
				before, began := s.sets(), time.Now()
				l := mustLock(t, c, "key")
				if took := time.Since(began); took != 2*away {
					t.Errorf("took %v, want two round trips of %v", took, away)
				}
				if n := s.sets() - before; n != 0 {
					t.Errorf("%d masters were asked twice", n)
				}
				if n := asked.Load(); n != 1 {
					t.Errorf("the trace tells of %d attempts", n)
				}
				if left := l.Remaining(); left > time.Second-(10+2)*time.Millisecond-2*away { // drift
					t.Errorf("%v are left: the time of the dial is missing", left)
				}
				if err := l.Extend(t.Context()); err != nil {
					t.Error(err)
				}
				began = time.Now()
				other := mustLock(t, c, "other")
				if took := time.Since(began); took != away {
					t.Errorf("the second lock took %v, want one round trip", took)
				}
				unlock(t, other)
				unlock(t, l)
				time.Sleep(time.Second)
				s.wantRolledBack("key")
				s.wantRolledBack("other")
			})
		})
	}
}

// What has another command, or compares clocks, waits until the masters are judged.
func TestTheFirstLockOfAnotherKindTakesThreeRoundTrips(t *testing.T) {
	for name, test := range map[string]struct {
		sort
		opts []redlock.LockOption
	}{
		"fenced": {one, []redlock.LockOption{redlock.WithFencing()}}, "several": {all, nil}, "one of several": {slot, nil}, "read": {reader, nil},
	} {
		t.Run(name, func(t *testing.T) {
			inColdSim(t, 5, func(t *testing.T, s *sim) {
				c, began := s.guarded(), time.Now()
				l, err := test.lock(c, t.Context(), ab, test.opts...)
				if err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); took < 2*away || took > 3*away+time.Millisecond {
					t.Errorf("took %v, want three round trips of %v", took, away)
				}
				unlock(t, l)
				time.Sleep(time.Second)
				s.wantRolledBack("a")
			})
		})
	}
}

// Where the early question is not granted, the attempt is made as if there had been none.
func TestAFirstLockThatIsNotGrantedEarlyLeavesNothing(t *testing.T) {
	for name, test := range map[string]struct {
		prepare func(s *sim)
		opts    []redlock.Option
		want    error // nil: the lock is taken
		noSet   bool  // nothing may be set, not even for a moment
	}{
		"held by another": {prepare: func(s *sim) { s.do("SET", "key", "another's", "PX", "60000") }, want: redlock.ErrTaken},
		"the votes are split": {prepare: func(s *sim) {
			for i := range 3 {
				s.Ask(i, "SET", "key", "another's", "PX", "60000")
			}
		}, want: redlock.ErrTaken},
		"in quarantine":  {prepare: func(s *sim) { s.Restart(true, 0, 1, 2) }, want: redlock.ErrNoQuorum},
		"without data":   {prepare: func(s *sim) { s.Restart(false, 0, 1, 2) }, want: redlock.ErrNoQuorum},
		"a new fleet":    {prepare: func(s *sim) { s.Restart(false, 0, 1, 2, 3, 4) }},
		"another MaxTTL": {opts: []redlock.Option{redlock.WithMaxTTL(3 * time.Second)}, want: redlock.ErrNoQuorum, noSet: true},
		"being moved":    {prepare: func(s *sim) { s.do("HSET", guard.Key, "to", "another fleet") }, want: redlock.ErrNoQuorum, noSet: true},
		"an older marker": {prepare: func(s *sim) {
			s.do("HSET", guard.Key, "v", "1")
			s.do("HDEL", guard.Key, "db", "fleet")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			inColdSim(t, 5, func(t *testing.T, s *sim) {
				if test.prepare != nil {
					test.prepare(s)
				}
				ran := func() (n int) {
					for _, m := range s.All {
						n += len(m.Keys())
					}
					return n
				}
				c := s.guarded(test.opts...)
				l, err := c.TryLock(t.Context(), "key")
				if test.noSet && ran() != 5 {
					t.Errorf("%d keys are on the masters, want their markers", ran())
				}
				if test.want == nil {
					if err != nil {
						t.Fatal(err)
					}
					unlock(t, l)
				} else {
					wantExactly(t, err, test.want)
				}
				time.Sleep(away) // the rollback is on its way
				synctest.Wait()
				for i, m := range s.All {
					if value, ok := m.Get("key"); ok && value != "another's" {
						t.Errorf("master %d has %q", i, value)
					}
				}
			})
		})
	}
}

// Two addresses of one server: it grants the key at one of them, and has one vote.
func TestAFirstLockOverTwoAddressesOfOneServer(t *testing.T) {
	inSim(t, 3, func(t *testing.T, s *sim) {
		urls, twin := s.twin(away)
		open := func() *redlock.Client { return s.openAt(urls, twin, redlock.WithOutageWait(0)) }
		open()
		time.Sleep(settled + time.Minute + 10*time.Second) // adopted, and no more in quarantine
		for range 20 {
			c := open()
			l := mustLock(t, c, "key")
			synctest.Wait()
			if n := s.holders("key", l.Token()); n != 3 {
				t.Errorf("%d of 3 servers have the key", n)
			}
			wantExactly(t, second(open().TryLock(t.Context(), "key")), redlock.ErrTaken)
			unlock(t, l)
			synctest.Wait()
			s.wantClean()
		}
	})
}

func second(_ *redlock.Lock, err error) error { return err }

func TestAFirstLockEndsWithItsContextAndItsClient(t *testing.T) {
	for name, test := range map[string]struct {
		end  func(c *redlock.Client, cancel func())
		want []error
	}{
		"context": {func(_ *redlock.Client, cancel func()) { cancel() }, []error{context.Canceled}},
		"client":  {func(c *redlock.Client, _ func()) { _ = c.Close() }, []error{redlock.ErrClosed}},
	} {
		for _, after := range []time.Duration{away / 2, away + away/2} { // in the dial, and in the handshake
			t.Run(name+" after "+after.String(), func(t *testing.T) {
				inColdSim(t, 5, func(t *testing.T, s *sim) {
					c := s.guarded()
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					time.AfterFunc(after, func() { test.end(c, cancel) })
					began := time.Now()
					_, err := c.Lock(ctx, "key")
					for _, want := range test.want {
						if !errors.Is(err, want) {
							t.Errorf("%v, want %v", err, want)
						}
					}
					if took := time.Since(began); took > after+time.Second {
						t.Errorf("ended after %v, %v after it should have", took, took-after)
					}
					time.Sleep(time.Second)
					s.wantRolledBack("key")
				})
			})
		}
	}
}

// Clients that start at once, as after a deployment: one of them holds the lock, and the
// votes are not split for good.
func TestManyFirstLocksAtOnceHaveOneHolder(t *testing.T) {
	inColdSim(t, 5, func(t *testing.T, s *sim) {
		var holding, most, turns atomic.Int32
		done := make(chan struct{})
		const clients = 8
		for range clients {
			c := s.open(redlock.WithMaxTTL(shortFleet), redlock.WithTTL(time.Second))
			go func() {
				defer func() { done <- struct{}{} }()
				l, err := c.Lock(t.Context(), "key")
				if err != nil {
					t.Error(err)
					return
				}
				if n := holding.Add(1); n > most.Load() {
					most.Store(n)
				}
				time.Sleep(time.Millisecond)
				holding.Add(-1)
				turns.Add(1)
				if err := l.Unlock(t.Context()); err != nil {
					t.Error(err)
				}
			}()
		}
		for range clients {
			<-done
		}
		if most.Load() != 1 || turns.Load() != clients {
			t.Errorf("%d holders at once, %d of %d turns", most.Load(), turns.Load(), clients)
		}
	})
}

// A client with masters that are connected already asks in the same way.
func TestAFirstLockOverASharedPool(t *testing.T) {
	inColdSim(t, 5, func(t *testing.T, s *sim) {
		p, err := pool.New(s.URLs(), pool.WithDialer(s.coldDial))
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		time.Sleep(time.Second)
		c, err := redlock.New(p, redlock.WithMaxTTL(shortFleet), redlock.WithTTL(time.Second))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		began := time.Now()
		l := mustLock(t, c, "key")
		if took := time.Since(began); took != away {
			t.Errorf("took %v, want one round trip of %v", took, away)
		}
		unlock(t, l)
	})
}
