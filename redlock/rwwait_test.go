package redlock_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

// Readers and writers that wait are woken: by the writer's release, by that of the last
// reader, by a writer that gives up, and by one that becomes a reader.

// reads has a client wait for a key as a reader.
func (s *sim) reads(c *redlock.Client, key string, opts ...redlock.LockOption) *queuer {
	return s.queueFor(c, func(ctx context.Context) (*redlock.Lock, error) { return c.RWMutex(key).RLock(ctx, opts...) })
}

// writes has a client wait for a key as a writer.
func (s *sim) writes(c *redlock.Client, key string, opts ...redlock.LockOption) *queuer {
	return s.queueFor(c, func(ctx context.Context) (*redlock.Lock, error) { return c.RWMutex(key).Lock(ctx, opts...) })
}

// waitingToRead is how many clients wait as readers, at all masters.
func (s *sim) waitingToRead(key string) (n int) {
	s.T.Helper()
	for i, m := range s.All {
		if m.Up() && !m.Frozen() {
			n += len(s.members(i, readersQueue(key)))
		}
	}
	return n
}

// wantNoQueues fails unless nobody waits for the key, holds it, or is noted to wait.
func (s *sim) wantNoQueues(key string) {
	s.T.Helper()
	synctest.Wait()
	for i := range s.All {
		if n := s.Ask(i, "EXISTS", key, intentKey(key), readersQueue(key), queueKey(key)); n != int64(0) {
			s.T.Errorf("%v keys are left on master %d", n, i)
		}
	}
}

func readersQueue(key string) string { return "redquorum:q:1:{" + key + "}:readers" }

// mustAllHaveAtOnce fails unless all of them have the lock as soon as f is done.
func mustAllHaveAtOnce(t *testing.T, f func(), all ...*queuer) {
	t.Helper()
	within(t, soon, func() {
		f()
		for i, q := range all {
			if !q.has() {
				t.Fatalf("number %d was not woken", i)
			}
		}
	})
}

func TestAWritersReleaseWakesAllReadersInOneGo(t *testing.T) {
	for name, opts := range map[string][]redlock.LockOption{"fair": {redlock.WithFairness()}, "not fair": nil} {
		t.Run(name, func(t *testing.T) {
			onEachLevel(t, func(t *testing.T, s *sim) {
				held := mustLock(t, s.open(), "key", opts...)
				shared := s.open()
				readers := []*queuer{s.reads(shared, "key", opts...), s.reads(shared, "key", opts...)}
				for range 4 {
					readers = append(readers, s.reads(s.open(), "key", opts...))
				}
				time.Sleep(10 * time.Second)
				if n := s.waitingToRead("key"); n != 5 {
					t.Errorf("%d clients wait to read, want 5", n)
				}
				mustAllHaveAtOnce(t, func() { unlock(t, held) }, readers...)
				if n := s.waitingToRead("key"); n != 0 {
					t.Errorf("%d clients that got in have an entry", n)
				}
				for _, q := range readers {
					unlock(t, q.lock)
				}
				s.wantNoQueues("key")
			})
		})
	}
}

func TestTheLastReadersReleaseWakesTheWriterAndNoEarlierOne(t *testing.T) {
	onEachLevel(t, func(t *testing.T, s *sim) {
		var in []*redlock.Lock
		for range 3 {
			in = append(in, s.must(s.open().RWMutex("key").RLock(t.Context())))
		}
		writer := s.writes(s.open(), "key")
		time.Sleep(10 * time.Second)
		for _, l := range in[1:] {
			unlock(t, l)
			if writer.has() {
				t.Fatal("a writer beside a reader")
			}
		}
		mustAllHaveAtOnce(t, func() { unlock(t, in[0]) }, writer)
		unlock(t, writer.lock)
		s.wantNoQueues("key")
	})
}

// The order is phase-fair: readers that come behind a writer wait for it; when a writer
// releases, all readers that wait then go before the next writer, and that one before all
// readers that come later.
func TestPhasesOfReadersAndWritersAlternate(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		reading := s.must(s.open().RWMutex("key").RLock(t.Context()))
		first, second := s.writes(s.open(), "key"), s.writes(s.open(), "key")
		var behind []*queuer
		for range 3 {
			behind = append(behind, s.reads(s.open(), "key"))
		}
		for round := range 3 {
			time.Sleep(3 * time.Second)
			if first.has() || behind[0].has() {
				t.Fatalf("round %d: somebody overtook", round)
			}
			mustAllHaveAtOnce(t, func() { unlock(t, reading) }, first)
			time.Sleep(time.Second)
			if second.has() || behind[0].has() {
				t.Fatalf("round %d: a writer is not alone", round)
			}
			mustAllHaveAtOnce(t, func() { unlock(t, first.lock) }, behind...)
			third := s.writes(s.open(), "key")
			late := s.reads(s.open(), "key")
			time.Sleep(3 * time.Second)
			if second.has() || late.has() {
				t.Fatalf("round %d: beside the readers there is a writer (%t), or one that came later (%t)", round, second.has(), late.has())
			}
			for _, q := range behind[1:] {
				unlock(t, q.lock)
			}
			reading, first, second = behind[0].lock, second, third
			behind = []*queuer{late, s.reads(s.open(), "key")}
		}
		mustAllHaveAtOnce(t, func() { unlock(t, reading) }, first)
		mustAllHaveAtOnce(t, func() { unlock(t, first.lock) }, behind...)
		for _, q := range behind {
			unlock(t, q.lock)
		}
		unlock(t, second.mustHave(t))
		s.wantClean()
	})
}

// With readers and writers that come all the time nobody waits for longer than a phase of
// the others, and its own.
func TestNeitherReadersNorWritersStarve(t *testing.T) {
	const hold = 10 * time.Millisecond
	inSim(t, 5, func(t *testing.T, s *sim) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var wg sync.WaitGroup
		var mu sync.Mutex
		readers, writers := 0, 0
		longest, turns := map[bool]time.Duration{}, map[bool]int{}
		for i := range 9 {
			m, writes := s.open().RWMutex("key"), i%3 == 0
			wg.Go(func() {
				for ctx.Err() == nil {
					acquire := m.RLock
					if writes {
						acquire = m.Lock
					}
					began := time.Now()
					l, err := acquire(ctx)
					if err != nil {
						return
					}
					mu.Lock()
					longest[writes] = max(longest[writes], time.Since(began))
					turns[writes]++
					if writes {
						writers++
					} else {
						readers++
					}
					if writers > 1 || writers == 1 && readers > 0 {
						t.Errorf("%d writers and %d readers are in", writers, readers)
					}
					mu.Unlock()
					time.Sleep(hold)
					mu.Lock()
					if writes {
						writers--
					} else {
						readers--
					}
					mu.Unlock()
					_ = l.Unlock(context.Background())
				}
			})
		}
		wg.Wait()
		t.Logf("writers: %d turns, the longest wait %v; readers: %d and %v", turns[true], longest[true], turns[false], longest[false])
		// A writer waits for two others and three phases of readers. A reader waits for
		// one writer, and for a phase that it was too late to join. Messages take a
		// little more.
		if longest[true] > 8*hold+soon || longest[false] > 5*hold+soon {
			t.Errorf("a writer waited for %v, a reader for %v: want %v and %v at the most", longest[true], longest[false], 8*hold, 5*hold)
		}
		if turns[true] < 30 || turns[false] < 60 {
			t.Errorf("%d turns of writers and %d of readers", turns[true], turns[false])
		}
		s.wantClean()
	})
}

// Nobody releases anything then.
func TestAWriterThatGivesUpWakesTheReadersThatItKeptOut(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		reading := s.must(s.open().RWMutex("key").RLock(t.Context()))
		writer := s.writes(s.open(), "key")
		readers := []*queuer{s.reads(s.open(), "key"), s.reads(s.open(), "key")}
		time.Sleep(5 * time.Second)
		mustAllHaveAtOnce(t, func() {
			writer.cancel()
			<-writer.done
		}, readers...)
		// While another one waits they stay out.
		first, second := s.writes(s.open(), "key"), s.writes(s.open(), "key")
		late := s.reads(s.open(), "key")
		time.Sleep(5 * time.Second)
		first.cancel()
		<-first.done
		time.Sleep(5 * time.Second)
		if late.has() {
			t.Error("a reader got in before a writer that waits")
		}
		for _, l := range []*redlock.Lock{reading, readers[0].lock, readers[1].lock} {
			unlock(t, l)
		}
		unlock(t, second.mustHave(t))
		unlock(t, late.mustHave(t))
		s.wantClean()
	})
}

func TestAWriterThatBecomesAReaderWakesReaders(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		held := mustLock(t, s.open(), "key")
		writer := s.writes(s.open(), "key")
		readers := []*queuer{s.reads(s.open(), "key"), s.reads(s.open(), "key")}
		time.Sleep(5 * time.Second)
		mustAllHaveAtOnce(t, func() {
			if err := held.Downgrade(t.Context()); err != nil {
				t.Error(err)
			}
		}, readers...)
		late := s.reads(s.open(), "key")
		for _, l := range []*redlock.Lock{readers[0].lock, held} {
			unlock(t, l)
		}
		if time.Sleep(time.Second); writer.has() || late.has() {
			t.Fatal("somebody got in while a reader is")
		}
		mustAllHaveAtOnce(t, func() { unlock(t, readers[1].lock) }, writer)
		mustAllHaveAtOnce(t, func() { unlock(t, writer.lock) }, late)
		unlock(t, late.lock)
		s.wantClean()
	})
}

// A reader that was called and does not come holds the next writer off for the grace at
// most; one whose client is gone not at all.
func TestADeadReaderHoldsNobodyOff(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		held := mustLock(t, s.open(), "key")
		writer := s.writes(s.open(), "key")
		for i := range s.All {
			s.Ask(i, "ZADD", readersQueue("key"), time.Now().UnixMicro(), "dead")
			s.Ask(i, "PEXPIRE", readersQueue("key"), 30_000)
		}
		mustAllHaveAtOnce(t, func() { unlock(t, held) }, writer)
		// It was called, and died then.
		reading := s.reads(s.open(), "key")
		for i := range s.All {
			s.Ask(i, "ZADD", readersQueue("key"), -time.Now().Add(250*time.Millisecond).UnixMicro(), "dead")
			s.Ask(i, "PEXPIRE", readersQueue("key"), 30_000)
		}
		within(t, time.Second, func() {
			unlock(t, writer.lock)
			unlock(t, reading.mustHave(t))
			unlock(t, s.writes(s.open(), "key").mustHave(t))
		})
		time.Sleep(31 * time.Second)
		s.wantClean()
	})
}

// Polling is what is left where the message is lost, the key expires, or whoever releases
// knows of no readers that wait: a client of another library, or of an older version.
func TestReadersThatNobodyWakesLookForThemselves(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		_ = mustLock(t, s.open(), "key")
		reader := s.reads(s.open(), "key")
		time.Sleep(time.Second)
		s.do("DEL", "key")
		within(t, 250*time.Millisecond, func() { unlock(t, reader.mustHave(t)) })
		// Its own release by its readers' set alone: the writer looks.
		reading := s.must(s.open().RWMutex("key").RLock(t.Context()))
		writer := s.writes(s.open(), "key")
		time.Sleep(time.Second)
		s.do("DEL", "key")
		within(t, 250*time.Millisecond, func() { unlock(t, writer.mustHave(t)) })
		_ = reading.Unlock(t.Context())
		s.wantClean()
	})
}

// The pilot may have missed an adoption: the adopter was cut off from it then. There the
// writer waits for what the adopter leaves behind, and not for the adopter's own token.
func TestAReaderAdoptedAwayFromThePilotWakesTheWriter(t *testing.T) {
	onEachLevel(t, func(t *testing.T, s *sim) {
		line := &slowLine{s: s, addr: s.All[s.pilotOf("key")].Addr()}
		taker := s.open(redlock.WithPool(pool.WithDialer(line.dial)))
		token, err := s.must(s.open().RWMutex("key").RLock(t.Context(), redlock.WithTTL(30*time.Second))).HandOver()
		if err != nil {
			t.Fatal(err)
		}
		var cut sync.WaitGroup
		cut.Go(func() { line.cut(time.Second) })
		settle()
		reading := s.must(taker.RWMutex("key").RAdopt(t.Context(), token, redlock.WithTTL(30*time.Second)))
		cut.Wait()
		time.Sleep(2 * time.Second) // it is back: it dials every second at the least
		writer := s.writes(s.open(), "key")
		time.Sleep(time.Second)
		mustAllHaveAtOnce(t, func() { unlock(t, reading) }, writer)
		unlock(t, writer.lock)
		s.wantNoQueues("key")
	})
}
