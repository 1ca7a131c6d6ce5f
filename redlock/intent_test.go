package redlock_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

// waiting counts the masters on which writers wait for key.
func (s *sim) waiting(key string) (n int) {
	s.T.Helper()
	for i := range s.All {
		if len(s.members(i, intentKey(key))) > 0 {
			n++
		}
	}
	return n
}

func TestAWaitingWriterKeepsNewReadersOutAndRenewsNone(t *testing.T) {
	t.Parallel()
	inSim(t, 5, func(t *testing.T, s *sim) {
		c := s.open()
		reader := s.must(c.RWMutex("key").RLock(t.Context()))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			_, err := s.open().RWMutex("key").Lock(ctx)
			done <- err
		}()
		time.Sleep(time.Second)
		newcomer := s.open()
		for range 20 { // renewals of the reader go on meanwhile
			if n := s.waiting("key"); n != 5 {
				t.Errorf("the writer is noted on %d masters", n)
			}
			_, err := newcomer.RWMutex("key").TryRLock(t.Context())
			wantExactly(t, err, redlock.ErrTaken)
			if err == nil || !strings.Contains(err.Error(), "kept for a writer that waits") {
				t.Errorf("the reason is not given: %v", err)
			}
			time.Sleep(time.Second)
		}
		if err := reader.Verify(t.Context()); err != nil {
			t.Errorf("the reader suffered: %v", err)
		}
		cancel()
		wantExactly(t, <-done, redlock.ErrTaken, context.Canceled)
		synctest.Wait()
		if n := s.waiting("key"); n != 0 {
			t.Errorf("a writer that gave up is noted on %d masters", n)
		}
		other := s.must(c.RWMutex("key").RLock(t.Context()))
		unlock(t, reader, other)
		s.wantClean()
	})
}

// The writer is noted even while it looks seldom, because another writer will call it.
func TestAWriterThatWaitsForLongIsNotedAllTheTime(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		held := mustLock(t, s.open(), "key")
		q := s.writes(s.open(), "key")
		time.Sleep(time.Second)
		for range 100 {
			now := time.Now().UnixMilli()
			for i := range s.All {
				if n := s.Ask(i, "ZCOUNT", intentKey("key"), now, "+inf"); n != int64(1) {
					t.Fatalf("master %d has %v intents that stand", i, n)
				}
			}
			time.Sleep(100 * time.Millisecond)
		}
		q.mustBeWoken(t, func() { unlock(t, held) })
		unlock(t, q.lock)
		s.wantClean()
	})
}
