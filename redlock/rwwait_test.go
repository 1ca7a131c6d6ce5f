package redlock_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

// Waiting readers and writers are woken by the writer's release, by the last reader's release, and
// by a writer that gives up.

func (s *sim) reads(c *redlock.Client, key string, opts ...redlock.LockOption) *queuer {
	return s.queueFor(c, func(ctx context.Context) (*redlock.Lock, error) { return c.RWMutex(key).RLock(ctx, opts...) })
}

func (s *sim) writes(c *redlock.Client, key string, opts ...redlock.LockOption) *queuer {
	return s.queueFor(c, func(ctx context.Context) (*redlock.Lock, error) { return c.RWMutex(key).Lock(ctx, opts...) })
}

// wantNoQueues fails if anybody waits for the key, holds it, or is noted as waiting.
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

// The order is phase-fair: readers that come behind a writer wait for it. When a writer releases,
// all waiting readers go before the next writer, and that writer goes before all later readers.
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

// Nobody releases anything in this case.
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
		// While another writer waits, they stay out.
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

// Waiters must look for themselves if the message is lost, the key expires, or the releaser calls
// nobody, as clients of other libraries do.
func TestReadersThatNobodyWakesLookForThemselves(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		_ = mustLock(t, s.open(), "key")
		reader := s.reads(s.open(), "key")
		time.Sleep(time.Second)
		s.do("DEL", "key")
		within(t, 500*time.Millisecond, func() { unlock(t, reader.mustHave(t)) })
		// Here only the readers' set disappears: the writer looks.
		reading := s.must(s.open().RWMutex("key").RLock(t.Context()))
		writer := s.writes(s.open(), "key")
		time.Sleep(time.Second)
		s.do("DEL", "key")
		within(t, 500*time.Millisecond, func() { unlock(t, writer.mustHave(t)) })
		_ = reading.Unlock(t.Context())
		s.wantClean()
	})
}
