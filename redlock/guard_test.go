package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

// shortFleet has a short quarantine: MaxTTL and a little more.
const shortFleet = 2 * time.Second

// guarded makes a client of a fleet with a short quarantine.
func (s *sim) guarded(opts ...redlock.Option) *redlock.Client {
	s.T.Helper()
	return s.open(append([]redlock.Option{redlock.WithMaxTTL(shortFleet), redlock.WithTTL(time.Second), redlock.WithOutageWait(0)}, opts...)...)
}

// quarantine is how long a master of such a fleet does not vote, at least.
func quarantine() time.Duration {
	return guard.Config{Level: guard.Standard, MaxTTL: shortFleet, Masters: 5}.Quarantine()
}

// causes returns why each master may not vote; 0: it votes.
func causes(t *testing.T, c *redlock.Client) (all []guard.Cause) {
	t.Helper()
	synctest.Wait()
	for _, m := range c.Masters() {
		switch {
		case m.Votes != (m.Why == nil):
			t.Errorf("%s: votes %v, %v", m.Master, m.Votes, m.Why)
		case m.Votes:
			all = append(all, votes)
		default:
			all = append(all, m.Why.Cause)
		}
	}
	return all
}

func wantStandings(t *testing.T, c *redlock.Client, want ...guard.Cause) {
	t.Helper()
	if got := causes(t, c); !slices.Equal(got, want) {
		t.Errorf("why masters do not vote: %v, want %v", got, want)
	}
}

const (
	votes    = guard.Cause("")
	quaranty = guard.Quarantined
)

// wantDeclared fails unless the markers of all masters say that there was nothing to remember.
func (s *sim) wantDeclared() {
	s.T.Helper()
	for i, m := range s.All {
		if since := m.Field(guard.Key, "since"); since != "0" {
			s.T.Errorf("master %d: since %q, want it declared", i, since)
		}
	}
}

func TestANewFleetIsDeclaredOnceAndVotesAtOnce(t *testing.T) {
	t.Parallel()
	inSim(t, 5, func(t *testing.T, s *sim) {
		const clients = 12
		log := new(logBuffer)
		var all []*redlock.Client
		for range clients {
			c, err := redlock.Open(s.URLs(), redlock.WithPool(pool.WithDialer(s.Dialer())), redlock.WithLogger(log.logger()))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			all = append(all, c)
		}
		var wg sync.WaitGroup
		for i, c := range all {
			wg.Go(func() {
				l, err := c.TryLock(t.Context(), fmt.Sprintf("key-%d", i))
				if err != nil {
					t.Errorf("right after Open: %v", err)
					return
				}
				_ = l.Unlock(t.Context())
			})
		}
		// A client that finds that others are about to declare the fleet looks again.
		within(t, 50*time.Millisecond, wg.Wait)
		if !strings.Contains(log.String(), "the fleet is new") {
			t.Errorf("the log says %q", log.String())
		}
		s.wantDeclared()
		time.Sleep(200 * time.Millisecond) // until the clients that did not declare it have looked again
		for _, c := range all {
			wantStandings(t, c, votes, votes, votes, votes, votes)
		}
	})
}

// With masters that are far away some probe is always under way, and their answers never come
// together.
func TestANewFleetIsDeclaredHoweverFarItsMastersAre(t *testing.T) {
	t.Parallel()
	for _, least := range []time.Duration{20 * time.Millisecond, 105 * time.Millisecond, 150 * time.Millisecond} {
		for _, more := range []time.Duration{0, 7 * time.Millisecond} {
			for _, how := range []string{"by itself", "by Init"} {
				t.Run(fmt.Sprintf("%v and %v more each, %s", least, more, how), func(t *testing.T) {
					inSim(t, 5, func(t *testing.T, s *sim) {
						s.placeAway(func(i int) time.Duration { return least + time.Duration(i)*more })
						began := time.Now()
						c := s.guarded(redlock.WithPool(pool.WithCommandTimeout(time.Second)))
						if how == "by Init" {
							if err := c.Init(t.Context()); err != nil {
								t.Error(err)
							}
						}
						ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
						defer cancel()
						if err := c.Ready(ctx); err != nil {
							t.Error(err)
						}
						if took, most := time.Since(began), 10*(least+4*more); took > most {
							t.Errorf("took %v, want some round trips, %v at most", took, most)
						}
						time.Sleep(time.Second) // a quorum is ready sooner
						s.wantDeclared()
					})
				})
			}
		}
	}
}

// settled is long enough for a master to be dialled and adopted.
const settled = 1500 * time.Millisecond

func (s *sim) wantRolledBack(key string) {
	s.T.Helper()
	synctest.Wait()
	for i, m := range s.All {
		if _, ok := m.Get(key); ok && m.Up() {
			s.T.Errorf("%q is left on master %d", key, i)
		}
	}
}

// Unlock asks each master about its own key alone, so its answer needs no vote.
func TestUnlockCountsMastersThatAbstain(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		c := s.guarded()
		l := mustLock(t, c, "key", redlock.WithTTL(1500*time.Millisecond))
		s.Restart(true, 0, 1, 2)
		time.Sleep(100 * time.Millisecond)
		wantStandings(t, c, quaranty, quaranty, quaranty, votes, votes)
		unlock(t, l)
		s.wantClean()
	})
}

// No votes are asked for, so only the Monitor's own probes can notice it. Each comes within 5 s of
// the one before, on the living connection.
func TestAClientWithoutTrafficSeesAnotherHistoryWithinFiveSeconds(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		c := s.guarded()
		wantStandings(t, c, votes, votes, votes, votes, votes)
		time.Sleep(time.Minute) // the first probes ended long ago
		if err := s.All[1].NewHistory(); err != nil {
			t.Fatal(err)
		}
		changed := time.Now()
		for c.Masters()[1].Votes && time.Since(changed) < time.Minute {
			time.Sleep(10 * time.Millisecond)
		}
		if after := time.Since(changed); after > 5*time.Second+100*time.Millisecond {
			t.Errorf("it was seen after %v: want at most 5s", after)
		}
		wantStandings(t, c, votes, quaranty, votes, votes, votes)
		if m := c.Masters()[1]; !m.Connected {
			t.Errorf("%s was not on a living connection: %v", m.Master, m.Err)
		}
	})
}

func TestOneServerAtTwoAddressesVotesOnce(t *testing.T) {
	inSim(t, 3, func(t *testing.T, s *sim) {
		dial := s.Dialer()
		twin := redlock.WithPool(pool.WithDialer(func(ctx context.Context, network, addr string) (net.Conn, error) {
			if addr == "twin.sim:6379" {
				addr = s.All[0].Name()
			}
			return dial(ctx, network, addr)
		}))
		urls := append(s.URLs(), "redis://twin.sim:6379", "redis://gone.sim:6379") // nothing listens at the last
		c := s.openAt(urls, twin, redlock.WithOutageWait(0))
		if err := c.Init(t.Context()); err == nil || !strings.Contains(err.Error(), "same server") || !strings.Contains(err.Error(), "gone.sim") {
			t.Errorf("Init of such a list: %v", err)
		}
		time.Sleep(settled + time.Minute + 10*time.Second) // adopted, and no more in quarantine
		wantStandings(t, c, votes, votes, votes, guard.Duplicate, guard.NotConnected)
		before := s.All[0].Commands()["SET"]
		l := mustLock(t, c, "key")
		if n := s.All[0].Commands()["SET"] - before; n != 1 {
			t.Errorf("the server at two addresses was asked %d times", n)
		}
		s.Kill(2)
		wantExactly(t, l.Extend(t.Context()), redlock.ErrNoQuorum)
		_, err := c.TryLock(t.Context(), "other")
		wantExactly(t, err, redlock.ErrNoQuorum)
		if r := c.Masters()[0]; len(r.Aliases) != 1 || r.Aliases[0] != "twin.sim:6379" {
			t.Errorf("aliases of the first: %v", r.Aliases)
		}
	})
}

func TestClientsThatDisagreeAboutTheFleetNameBothSettings(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		s.guarded()
		for name, open := range map[string]func() *redlock.Client{
			"2s": func() *redlock.Client { return s.open(redlock.WithOutageWait(0)) },
			"5 masters": func() *redlock.Client {
				return s.openAt(s.URLs()[:3], redlock.WithMaxTTL(shortFleet), redlock.WithTTL(time.Second), redlock.WithOutageWait(0))
			},
			"level standard": func() *redlock.Client { return s.guarded(redlock.WithGuard(redlock.GuardStrict)) },
		} {
			c := open()
			_, err := c.Lock(t.Context(), "key")
			wantExactly(t, err, redlock.ErrNoQuorum)
			named := slices.ContainsFunc(nodes(err), func(node error) bool {
				why, ok := errors.AsType[*redlock.AbstainError](node)
				return ok && why.Cause == guard.OtherFleet && strings.Contains(why.Value, name) && !strings.Contains(why.Want, name)
			})
			if !named { // other markers may not be known yet
				t.Errorf("%s: %v", name, err)
			}
			s.wantDeclared() // nobody has written the markers
			for i, m := range s.All {
				// Not even for a moment: that would keep out the fleet's clients.
				if n := m.Commands()["SET"]; n != 0 {
					t.Errorf("%s: %d locks were set on master %d", name, n, i)
				}
			}
		}
	})
}

// All masters lose everything while clients run: at one instant, or one after the other.
func TestAnEmptiedFleetGrantsNothingWhileItsClientsLive(t *testing.T) {
	for _, apart := range []time.Duration{0, 100 * time.Millisecond, 300 * time.Millisecond} {
		for name, empty := range map[string]func(s *sim, i int){
			"flushed":   func(s *sim, i int) { s.All[i].FlushAll() },
			"restarted": func(s *sim, i int) { s.Restart(false, i) },
		} {
			t.Run(fmt.Sprintf("%s, %v apart", name, apart), func(t *testing.T) {
				inFarSim(t, 3, func(t *testing.T, s *sim) {
					first, second := s.guarded(), s.guarded()
					if err := errors.Join(first.Ready(t.Context()), second.Ready(t.Context())); err != nil {
						t.Fatal(err)
					}
					l := mustLock(t, first, "key", redlock.WithLease(shortFleet))
					for i := range s.All {
						empty(s, i)
						time.Sleep(apart)
					}
					for l.Remaining() > 0 {
						if other, err := second.TryLock(t.Context(), "key"); err == nil && l.Remaining() > 0 {
							t.Fatalf("a second holder, with %v left, beside one with %v", other.Remaining(), l.Remaining())
						}
						time.Sleep(5 * time.Millisecond)
					}
					operator := s.guarded()
					if err := operator.Init(t.Context()); err == nil {
						t.Error("Init declares it")
					}
					_ = operator.Close()
					time.Sleep(settled + quarantine())
					wantStandings(t, second, votes, votes, votes)
					unlock(t, mustLock(t, second, "key"))
				})
			})
		}
	}
}

// A new client is the first to find the masters empty. The marker that it writes says nothing of
// the fleet, but a client that knows the fleet does, even if it is the operator's.
func TestInitRefusesAFleetThatItsClientsKnowWhoeverWasFirst(t *testing.T) {
	type act func(t *testing.T, holder, newcomer *redlock.Client) error
	for name, initialize := range map[string]act{
		"by the holder's client": func(t *testing.T, holder, _ *redlock.Client) error {
			return holder.Init(t.Context())
		},
		"by the newcomer": func(t *testing.T, holder, newcomer *redlock.Client) error {
			_, _ = holder.TryLock(t.Context(), "other") // here it sees that
			time.Sleep(100 * time.Millisecond)          // also on the master that did not decide the call
			for _, m := range holder.Masters() {
				if m.Connected && (m.Why == nil || strings.Contains(m.Why.Error(), "redlock init")) {
					t.Errorf("the holder's client says %v", m.Why)
				}
			}
			return newcomer.Init(t.Context())
		},
	} {
		for _, level := range []redlock.GuardLevel{redlock.GuardStandard, redlock.GuardStrict} {
			t.Run(name+", "+string(level), func(t *testing.T) {
				inFarSim(t, 3, func(t *testing.T, s *sim) {
					holder := s.guarded(redlock.WithGuard(level))
					if level == redlock.GuardStrict {
						if err := holder.Init(t.Context()); err != nil {
							t.Fatal(err)
						}
					}
					if err := holder.Ready(t.Context()); err != nil {
						t.Fatal(err)
					}
					mustLock(t, holder, "key", redlock.WithLease(shortFleet))
					s.Kill(2)
					s.All[0].FlushAll()
					s.All[1].FlushAll()
					newcomer := s.guarded(redlock.WithGuard(level))
					time.Sleep(1500 * time.Millisecond)
					wantStandings(t, newcomer, guard.Quarantined, guard.Quarantined, guard.NotConnected)
					err := initialize(t, holder, newcomer)
					if err == nil || !strings.Contains(err.Error(), s.All[0].Addr()+", "+s.All[1].Addr()+": it had a marker and has lost its data") {
						t.Errorf("Init: %v", err)
					}
				})
			})
		}
	}
}

// A client that is nearer declares a new fleet between Init's questions and its script. The fleet
// is then declared, and nobody has to run Init again. In rare cases Init finds one master declared
// and another not yet, and refuses.
func TestInitOfANewFleetMayMeetAClientThatDeclaresIt(t *testing.T) {
	const rounds, seldom = 20, 2
	refused := 0
	for range rounds {
		inFarSim(t, 3, func(t *testing.T, s *sim) {
			operator := s.guarded()
			s.placeAway(func(int) time.Duration { return 370 * time.Microsecond })
			done := make(chan error, 1)
			go func() { done <- operator.Init(t.Context()) }()
			time.Sleep(4110 * time.Microsecond) // for most rounds: Init has asked, and its script is on its way
			_ = s.guarded()
			if err := <-done; err != nil && strings.Contains(err.Error(), "it has a marker") {
				refused++
				return
			} else if err != nil {
				t.Error(err)
			}
			s.wantDeclared()
		})
	}
	if refused > seldom {
		t.Errorf("refused in %d of %d rounds", refused, rounds)
	}
}

// The master is up, but slow: its machine is busy, or a dial is repeated.
func TestANewFleetIsDeclaredHoweverLateOneOfItsMastersAnswers(t *testing.T) {
	for _, late := range []time.Duration{500 * time.Millisecond, 3 * time.Second, 20 * time.Second} {
		t.Run(late.String(), func(t *testing.T) {
			inSim(t, 5, func(t *testing.T, s *sim) {
				s.Freeze(4)
				var all []*redlock.Client
				for range 3 {
					all = append(all, s.open(redlock.WithOutageWait(0)))
				}
				time.Sleep(late)
				s.Thaw(4)
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				for _, c := range all {
					if err := c.Ready(ctx); err != nil {
						t.Error(err)
					}
				}
				time.Sleep(time.Second)
				s.wantDeclared()
			})
		})
	}
}
