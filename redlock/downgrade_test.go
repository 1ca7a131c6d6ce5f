package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/internal/script"
	"github.com/redquorum/redquorum/redlock"
)

func TestADowngradedWriterIsAReader(t *testing.T) {
	t.Parallel()
	inSim(t, 5, func(t *testing.T, s *sim) {
		c, other := s.open(), s.open()
		l := s.must(c.RWMutex("key").Lock(t.Context()))
		token, ctx := l.Token(), l.Context()
		_, err := other.RWMutex("key").TryRLock(t.Context())
		wantExactly(t, err, redlock.ErrTaken)
		time.Sleep(time.Second)
		if err := l.Downgrade(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if n := s.readingOn("key", token); n != 5 || l.Token() != token || ctx.Err() != nil {
			t.Errorf("a reader on %d masters, token %q then %q, context %v", n, token, l.Token(), ctx.Err())
		}
		if got, want := l.Remaining(), 10*time.Second-allowance; got != want {
			t.Errorf("Remaining is %v: want %v", got, want)
		}
		if err := l.Downgrade(t.Context()); err != nil {
			t.Errorf("a second time: %v", err)
		}
		reader := s.must(other.RWMutex("key").RLock(t.Context()))
		_, err = other.RWMutex("key").TryLock(t.Context())
		wantExactly(t, err, redlock.ErrTaken)
		time.Sleep(time.Minute)
		if err := errors.Join(l.Verify(t.Context()), reader.Verify(t.Context())); err != nil {
			t.Error(err)
		}
		unlock(t, l)
		_, err = other.RWMutex("key").TryLock(t.Context())
		wantExactly(t, err, redlock.ErrTaken)
		unlock(t, reader)
		s.wantClean()
	})
}

// Whatever becomes of a downgrade on each of five masters, three things hold. No other
// writer gets in while the handle is valid. The handle never acts as a writer's again.
// Nothing is left when it is unlocked.
func TestADowngradeIsSafeWhateverMastersDo(t *testing.T) {
	for frozen := range 6 {
		for killed := range 6 - frozen {
			for _, renewed := range []bool{false, true} {
				t.Run(fmt.Sprintf("%d frozen, %d killed, renewed %v", frozen, killed, renewed), func(t *testing.T) {
					inUnguardedSim(t, 5, func(t *testing.T, s *sim) { downgradeUnderFaults(t, s, frozen, killed, renewed) })
				})
			}
		}
	}
}

func downgradeUnderFaults(t *testing.T, s *sim, frozen, killed int, renewed bool) {
	c, other := s.open(), s.open(redlock.WithOutageWait(0))
	l := s.must(c.RWMutex("key").Lock(t.Context()))
	var down []int
	for i := range frozen {
		s.Freeze(i)
	}
	for i := frozen; i < frozen+killed; i++ {
		down = append(down, i)
	}
	s.Kill(down...)
	var err error
	within(t, 250*time.Millisecond, func() { err = l.Downgrade(t.Context()) })
	working := 5 - frozen - killed
	if working >= 3 && err != nil {
		t.Errorf("with %d masters: %v", working, err)
	} else if working < 3 {
		wantExactly(t, err, redlock.ErrNoQuorum)
	}
	noWriter := func(when string) {
		t.Helper()
		if w, err := other.RWMutex("key").TryLock(t.Context()); err == nil && l.Remaining() > 0 {
			t.Errorf("%s: another writer is in", when)
			_ = w.Unlock(t.Context())
		} else if err == nil {
			_ = w.Unlock(t.Context())
		}
	}
	noWriter("at once")
	for i := range frozen {
		s.Thaw(i)
	}
	s.Restart(true, down...)
	noWriter("when the masters are back")
	if l.Remaining() == 0 {
		t.Error("lost, though no master forgot anything")
	}
	if renewed {
		time.Sleep(7 * time.Second)
		noWriter("after a renewal")
		if n := s.readingOn("key", l.Token()); n != 5 {
			t.Errorf("a renewal left a reader on %d masters", n)
		}
		r := s.must(s.open().RWMutex("key").RLock(t.Context()))
		if err := l.Verify(t.Context()); err != nil {
			t.Error(err)
		}
		unlock(t, r)
	}
	if err := l.Unlock(t.Context()); err != nil && renewed {
		t.Error(err)
	}
	time.Sleep(3 * time.Second)
	s.wantClean()
}

func TestADowngradeOfWhatIsGoneIsALoss(t *testing.T) {
	inUnguardedSim(t, 5, func(t *testing.T, s *sim) {
		c := s.open()
		l := s.must(c.RWMutex("key").Lock(t.Context()))
		for i := range 3 {
			_ = s.All[i].Set("key", "writer", time.Minute)
		}
		err := l.Downgrade(t.Context())
		wantExactly(t, err, redlock.ErrLost, redlock.ErrNotHeld)
		wantReason(t, err, redlock.ReasonTaken)
		synctest.Wait()
		if s.holders("key", "writer") != 3 || s.holders("key", l.Token()) != 0 || s.readingOn("key", l.Token()) != 0 {
			t.Errorf("the masters have %s", s.contents())
		}
		for _, m := range s.All {
			m.FlushAll()
		}
		l = s.must(c.RWMutex("key").Lock(t.Context()))
		unlock(t, l)
		wantExactly(t, l.Downgrade(t.Context()), redlock.ErrNotHeld, redlock.ErrUnlocked)
		l = s.must(c.RWMutex("key").Lock(t.Context(), redlock.WithLease(time.Second)))
		time.Sleep(2 * time.Second)
		wantExactly(t, l.Downgrade(t.Context()), redlock.ErrNotHeld, redlock.ErrLost)
		l = s.must(c.RWMutex("key").Lock(t.Context()))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		wantExactly(t, l.Downgrade(ctx), context.Canceled)
		if n := s.holders("key", l.Token()); n != 5 {
			t.Errorf("under a context that was over something was sent: a writer on %d masters", n)
		}
		unlock(t, l)
		s.wantClean()
	})
}

// What was asked for the writer and is answered for the reader says nothing: it
// neither ends the hold nor undoes the downgrade.
func TestWhatWasUnderWayForTheWriterDoesNotHarmTheReader(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		c := s.open()
		l := s.must(c.RWMutex("key").Lock(t.Context()))
		// The masters know the reader's scripts and not the writer's, whose
		// questions are therefore asked again behind the downgrade.
		s.do("SCRIPT", "FLUSH")
		s.do("SCRIPT", "LOAD", script.ReaderExtend.Source)
		s.Freeze(0, 1, 2, 3, 4)
		done := make(chan error, 2)
		go func() { done <- l.Extend(t.Context()) }()
		go func() { done <- l.Verify(t.Context()) }()
		synctest.Wait()
		downgraded := make(chan error, 1)
		go func() { downgraded <- l.Downgrade(t.Context()) }()
		synctest.Wait()
		s.Thaw(0, 1, 2, 3, 4)
		if err := <-downgraded; err != nil {
			t.Error(err)
		}
		for range 2 {
			wantExactly(t, <-done, redlock.ErrNoQuorum)
		}
		time.Sleep(time.Minute)
		if err := l.Verify(t.Context()); err != nil {
			t.Error(err)
		}
		if n := s.readingOn("key", l.Token()); n != 5 {
			t.Errorf("a reader on %d masters", n)
		}
		unlock(t, l)
		s.wantClean()
	})
}

// A downgrade, a renewal and an unlock that meet.
func TestAnUnlockDuringADowngradeLeavesNothing(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		c := s.open()
		l := s.must(c.RWMutex("key").Lock(t.Context(), redlock.WithTTL(600*time.Millisecond)))
		s.Freeze(0, 1, 2)
		time.Sleep(250 * time.Millisecond) // a renewal is under way
		done := make(chan error, 1)
		go func() { done <- l.Downgrade(t.Context()) }()
		synctest.Wait()
		_ = l.Unlock(t.Context())
		if err := <-done; err != nil { // it may have had its answers before
			wantExactly(t, err, redlock.ErrNotHeld, redlock.ErrUnlocked)
		}
		s.Thaw(0, 1, 2)
		s.wantClean()
		time.Sleep(time.Minute)
		s.wantClean()
	})
}

func TestADowngradeMayMeetAnythingElse(t *testing.T) {
	t.Parallel()
	inSim(t, 5, func(t *testing.T, s *sim) {
		c, other := s.open(), s.open()
		for i := range 6 {
			l := s.must(c.RWMutex(fmt.Sprint("key-", i)).Lock(t.Context(), redlock.WithTTL(300*time.Millisecond)))
			var wg sync.WaitGroup
			for range 3 {
				wg.Go(func() {
					for range 10 {
						for _, err := range []error{l.Extend(t.Context()), l.Downgrade(t.Context()), l.Verify(t.Context())} {
							if errors.Is(err, redlock.ErrLost) {
								t.Error(err)
							}
						}
						_ = l.Remaining()
					}
				})
			}
			wg.Go(func() {
				time.Sleep(time.Duration(i) * 100 * time.Millisecond) // renewals come in between
				if i%2 == 0 {
					if _, err := other.RWMutex(l.Key()).RLock(t.Context(), redlock.WithLease(time.Second)); err != nil {
						t.Error(err)
					}
				}
				if err := l.Unlock(t.Context()); err != nil {
					t.Errorf("unlock: %v", err)
				}
			})
			wg.Wait()
		}
		time.Sleep(2 * time.Second)
		s.wantClean()
	})
}
