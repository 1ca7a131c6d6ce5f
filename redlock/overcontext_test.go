package redlock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

// An endingContext ends at a certain look at it, and interrupts nothing, like a context that ends
// just after a call has decided what to return.
type endingContext struct {
	context.Context
	looks int
}

func (c *endingContext) Err() error {
	if c.looks--; c.looks < 0 {
		return context.Canceled
	}
	return nil
}

// If the context of a failed call has ended, the error says so, whatever else it says.
func TestACallWhoseContextIsOverSaysSo(t *testing.T) {
	nothing := func(context.Context) error { return nil }
	type call = func(c *redlock.Client, l *redlock.Lock, ctx context.Context) error
	// begun are the calls that look at the context before they begin: it ends after that.
	begun := map[string]call{
		"Acquire": func(c *redlock.Client, _ *redlock.Lock, ctx context.Context) error {
			_, err := c.Semaphore("key", 1).Acquire(ctx, redlock.WithTries(1))
			return err
		},
		"Do": func(c *redlock.Client, _ *redlock.Lock, ctx context.Context) error {
			return c.Do(ctx, "key", nothing, redlock.WithTries(1))
		},
		"Semaphore.Do": func(c *redlock.Client, _ *redlock.Lock, ctx context.Context) error {
			return c.Semaphore("key", 1).Do(ctx, nothing, redlock.WithTries(1))
		},
		"Lead": func(c *redlock.Client, _ *redlock.Lock, ctx context.Context) error {
			return c.Lead(ctx, "key", nothing, redlock.WithTries(1))
		},
	}
	for _, k := range append(kinds, slot) {
		begun[k.name] = func(c *redlock.Client, _ *redlock.Lock, ctx context.Context) error {
			_, err := k.lock(c, ctx, five, redlock.WithTries(1))
			return err
		}
	}
	for name, try := range tries() {
		begun[name] = func(c *redlock.Client, _ *redlock.Lock, ctx context.Context) error { return try(c, ctx) }
	}
	others := map[string]call{
		"Extend": func(_ *redlock.Client, l *redlock.Lock, ctx context.Context) error { return l.Extend(ctx) },
		"Verify": func(_ *redlock.Client, l *redlock.Lock, ctx context.Context) error { return l.Verify(ctx) },
		"Unlock": func(_ *redlock.Client, l *redlock.Lock, ctx context.Context) error { return l.Unlock(ctx) },
		"Init":   func(c *redlock.Client, _ *redlock.Lock, ctx context.Context) error { return c.Init(ctx) },
		"Inspect of a closed client": func(c *redlock.Client, _ *redlock.Lock, ctx context.Context) error {
			_ = c.Close()
			_, err := c.Inspect(ctx, "key")
			return err
		},
		"Lock of a closed client": func(c *redlock.Client, _ *redlock.Lock, ctx context.Context) error {
			_ = c.Close()
			_, err := c.Lock(ctx, "key")
			return err
		},
	}
	for situation, happens := range map[string]func(s *sim){
		"taken": func(s *sim) {
			for _, key := range five {
				s.do("SET", key, foreign)
			}
			for i := range 20 {
				s.do("SET", "key#"+string(rune('0'+i%10)), foreign)
				s.do("SET", "key#1"+string(rune('0'+i%10)), foreign)
			}
			s.do("SET", "key#20", foreign)
		},
		"no quorum": func(s *sim) { s.Kill(0, 1, 2) },
	} {
		for looks, calls := range []map[string]call{others, begun} {
			for name, call := range calls {
				if name == "Init" && situation == "taken" {
					continue // Init does not fail then
				}
				t.Run(situation+", "+name, func(t *testing.T) {
					inSim(t, 5, func(t *testing.T, s *sim) {
						c := s.open(redlock.WithOutageWait(0))
						l := mustLock(t, c, "key", redlock.WithLease(10*time.Second))
						if name == one.name || name == "Do" { // so that nothing of this client is in the way
							unlock(t, l)
						}
						happens(s)
						err := call(c, l, &endingContext{t.Context(), looks})
						if err == nil || !errors.Is(err, context.Canceled) {
							t.Errorf("%v does not match the context's error", err)
						}
						for more := range 12 { // Lead goes on until it sees the end
							if name != "Lead" {
								break
							}
							if err := call(c, l, &endingContext{t.Context(), looks + more}); !errors.Is(err, context.Canceled) {
								t.Errorf("over at look %d: %v does not match the context's error", looks+more, err)
							}
						}
					})
				})
			}
		}
	}
}

// The end of WithWait is the end of a context, too, and does not hide another one.
func TestACallWhoseWaitIsOverSaysSo(t *testing.T) {
	for situation, happens := range map[string]func(s *sim){
		"taken":     func(s *sim) { s.do("SET", "key", foreign) },
		"no quorum": func(s *sim) { s.Kill(0, 1, 2) },
	} {
		inSim(t, 5, func(t *testing.T, s *sim) {
			ctx, cancel := context.WithCancel(t.Context())
			c := s.open(redlock.WithOutageWait(0), redlock.WithTrace(&redlock.Trace{
				Attempt: func(redlock.AttemptInfo) { time.Sleep(time.Second); cancel() }, // the context ends meanwhile
			}))
			happens(s)
			for _, cause := range []error{context.Canceled, context.DeadlineExceeded} {
				if cause == context.DeadlineExceeded { //nolint:errorlint // it is the very one
					ctx = t.Context()
				}
				_, err := c.Lock(ctx, "key", redlock.WithTries(1), redlock.WithWait(100*time.Millisecond))
				if !errors.Is(err, cause) || !errors.Is(err, redlock.ErrTaken) && !errors.Is(err, redlock.ErrNoQuorum) {
					t.Errorf("%s: %v", situation, err)
				}
			}
		})
	}
}

// The unlock is a part of the call.
func TestACallWhoseUnlockEndsItsContextSaysSo(t *testing.T) {
	for name, do := range dos {
		inSim(t, 5, func(t *testing.T, s *sim) {
			ctx, cancel := context.WithCancel(t.Context())
			c := s.open(redlock.WithTrace(&redlock.Trace{
				Held: func(_ context.Context, l *redlock.Lock) context.Context { _ = l.Unlock(t.Context()); return nil },
				Unlock: func(i redlock.UnlockInfo) {
					if i.Err != nil {
						cancel()
					}
				},
			}))
			err := do(c, ctx, "key", func(context.Context) error { t.Errorf("%s ran the function", name); return nil })
			wantExactly(t, err, redlock.ErrNotHeld, redlock.ErrUnlocked, context.Canceled)
		})
	}
}
