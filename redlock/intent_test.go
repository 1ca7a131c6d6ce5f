package redlock_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

// waiting is on how many masters writers wait for key.
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

// A reader that is kept out by a writer pauses as if it were taken, though the
// key itself is free.
func TestAReaderThatIsKeptOutDoesNotSpin(t *testing.T) {
	const stands = 2 * time.Second // the longest that an intent does
	inSim(t, 5, func(t *testing.T, s *sim) {
		for i := range s.All {
			s.Ask(i, "ZADD", intentKey("key"), time.Now().Add(stands).UnixMilli(), "a writer that crashed")
			s.Ask(i, "PEXPIRE", intentKey("key"), stands.Milliseconds())
		}
		attempts := 0
		c := s.open(redlock.WithTrace(&redlock.Trace{Attempt: func(redlock.AttemptInfo) { attempts++ }}))
		began := time.Now()
		l := s.must(c.RWMutex("key").RLock(t.Context()))
		if d := time.Since(began); d < stands || d > stands+250*time.Millisecond {
			t.Errorf("got in after %v: want when the intent had expired", d)
		}
		if attempts > 2*20 {
			t.Errorf("%d attempts in %v", attempts, stands)
		}
		unlock(t, l)
		s.wantClean()
	})
}

func TestAnIntentGoesWhenTheWaitEnds(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		opts []redlock.LockOption
		end  func(s *sim, reader *redlock.Lock, c *redlock.Client, cancel context.CancelFunc)
		want []error
	}{
		"success": {end: func(s *sim, reader *redlock.Lock, _ *redlock.Client, _ context.CancelFunc) {
			unlock(s.T, reader)
		}},
		"cancel": {end: func(_ *sim, _ *redlock.Lock, _ *redlock.Client, cancel context.CancelFunc) { cancel() },
			want: []error{redlock.ErrTaken, context.Canceled}},
		"close": {end: func(_ *sim, _ *redlock.Lock, c *redlock.Client, _ context.CancelFunc) { _ = c.Close() },
			want: []error{redlock.ErrClosed}},
		"its last try": {opts: []redlock.LockOption{redlock.WithTries(30)},
			end:  func(*sim, *redlock.Lock, *redlock.Client, context.CancelFunc) {},
			want: []error{redlock.ErrTaken}},
		"outage": {end: func(s *sim, _ *redlock.Lock, _ *redlock.Client, _ context.CancelFunc) { s.Kill(0, 1, 2) },
			want: []error{redlock.ErrNoQuorum}},
	} {
		t.Run(name, func(t *testing.T) {
			inSim(t, 5, func(t *testing.T, s *sim) {
				s.T = t
				reader := s.must(s.open().RWMutex("key").RLock(t.Context()))
				c := s.open()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				done := make(chan error, 1)
				go func() {
					l, err := c.RWMutex("key").Lock(ctx, test.opts...)
					if err == nil {
						synctest.Wait()
						if n := s.waiting("key"); n != 0 {
							t.Errorf("a writer that got in is noted on %d masters", n)
						}
						err = l.Unlock(t.Context())
					}
					done <- err
				}()
				time.Sleep(time.Second)
				synctest.Wait()
				if n := s.waiting("key"); n != 5 {
					t.Errorf("a writer that waits is noted on %d masters", n)
				}
				test.end(s, reader, c, cancel)
				if err := <-done; test.want == nil && err != nil {
					t.Error(err)
				} else if test.want != nil {
					wantExactly(t, err, test.want...)
				}
				synctest.Wait()
				for i, m := range s.All {
					if m.Up() && len(s.members(i, intentKey("key"))) > 0 {
						t.Errorf("still noted on master %d", i)
					}
				}
			})
		})
	}
}

func TestTryLockNotesNoIntent(t *testing.T) {
	inSim(t, 3, func(t *testing.T, s *sim) {
		c := s.open()
		reader := s.must(c.RWMutex("key").RLock(t.Context()))
		_, err := c.RWMutex("key").TryLock(t.Context())
		wantExactly(t, err, redlock.ErrTaken)
		_, err = c.RWMutex("key").Lock(t.Context(), redlock.WithTries(1))
		wantExactly(t, err, redlock.ErrTaken)
		_, err = c.Lock(t.Context(), "key", redlock.WithTries(3))
		wantExactly(t, err, redlock.ErrTaken)
		for i, m := range s.All {
			if n := m.Commands()["ZREM"]; n != 0 || s.waiting("key") != 0 {
				t.Errorf("master %d withdrew %d intents", i, n)
			}
		}
		unlock(t, reader)
		s.wantClean()
	})
}
