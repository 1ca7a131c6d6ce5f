package redlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

// A ctxWay makes a context that ends with a lock's Unlock.
type ctxWay func(l *redlock.Lock) (context.Context, context.CancelFunc)

func endingContexts() map[string]ctxWay {
	type name struct{}
	return map[string]ctxWay{
		"Context": func(l *redlock.Lock) (context.Context, context.CancelFunc) { return l.Context(), func() {} },
		"WithContext": func(l *redlock.Lock) (context.Context, context.CancelFunc) {
			return l.WithContext(context.Background())
		},
		"a child": func(l *redlock.Lock) (context.Context, context.CancelFunc) {
			return context.WithCancel(context.WithValue(l.Context(), name{}, ""))
		},
		"a child with a deadline": func(l *redlock.Lock) (context.Context, context.CancelFunc) {
			return context.WithTimeout(l.Context(), time.Minute)
		},
	}
}

func TestUnlockUnderAContextThatItEndsIsConfirmed(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		c := s.open()
		for _, k := range kinds {
			for name, way := range endingContexts() {
				for _, opts := range [][]redlock.LockOption{nil, {redlock.WithFencing()}} {
					l := s.must(k.lock(c, t.Context(), ab, opts...))
					ctx, cancel := way(l)
					settle()
					s.Freeze(0, 1, 2, 3, 4) // the context ends before any answer comes
					time.AfterFunc(time.Millisecond, func() { s.Thaw(0, 1, 2, 3, 4) })
					if err := l.Unlock(ctx); err != nil {
						t.Errorf("%s, %s: %v", k.name, name, err)
					}
					cancel()
					settle()
				}
			}
		}
		s.do("DEL", "redquorum:fence:1:a", "redquorum:fence:1:b")
		s.wantClean()
	})
}

// The outer handle's context ends with its Unlock, before the last Unlock uses it.
func TestTheLastOfSharedHandlesUnlocksUnderAnyOfTheirContexts(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		c := s.open()
		for _, way := range endingContexts() {
			for _, contextOf := range []string{"its own", "the other's"} {
				outer := mustLock(t, c, "key")
				inner := again(t, c, outer, redlock.WithReentrancy())
				of := outer
				if contextOf == "its own" {
					of = inner
				}
				ctx, cancel := way(of)
				unlock(t, outer)
				if err := inner.Unlock(ctx); err != nil {
					t.Errorf("%s: %v", contextOf, err)
				}
				cancel()
			}
		}
		s.wantClean()
	})
}

// A deadline that the caller adds to such a context still counts, and so does an end before the
// unlock. A context of another lock is like any context of the caller.
func TestOtherEndsOfAContextStillBoundTheWaitOfUnlock(t *testing.T) {
	inSim(t, 3, func(t *testing.T, s *sim) {
		c := s.open(redlock.WithTTL(10 * time.Second))
		l := mustLock(t, c, "key")
		settle()
		s.Freeze(0, 1)
		ctx, cancel := context.WithTimeout(l.Context(), 20*time.Millisecond)
		defer cancel()
		var err error
		within(t, 20*time.Millisecond, func() { err = l.Unlock(ctx) })
		wantExactly(t, err, redlock.ErrNoQuorum, context.DeadlineExceeded)
		s.Thaw(0, 1)
		settle()

		l = mustLock(t, c, "key")
		settle()
		s.Freeze(0, 1)
		ctx, cancel = context.WithCancel(l.Context())
		cancel()
		within(t, 0, func() { err = l.Unlock(ctx) })
		wantExactly(t, err, redlock.ErrNoQuorum, context.Canceled)
		s.Thaw(0, 1)
	})
}
