package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

// Users' code that only listens may block, be slow, or use the lock that it is called for. That
// costs no other lock its validity, and nobody gets a lock that is held.

// A handler is a slog.Handler of functions; nil ones do nothing.
type handler struct {
	enabled func()
	handle  func(text string)
}

func (h *handler) Enabled(context.Context, slog.Level) bool {
	if h.enabled != nil {
		h.enabled()
	}
	return true
}

func (h *handler) Handle(_ context.Context, r slog.Record) error {
	if h.handle != nil {
		h.handle(r.Message)
	}
	return nil
}

func (h *handler) WithAttrs([]slog.Attr) slog.Handler { return h }
func (h *handler) WithGroup(string) slog.Handler      { return h }

// listening are the ways in which users' code gets to know that a lock was lost, or that another is
// renewed: it calls f there.
var listening = map[string]func(f func()) redlock.Option{
	"a log line": func(f func()) redlock.Option {
		return redlock.WithLogger(slog.New(&handler{handle: func(text string) {
			if text == "lock lost" {
				f()
			}
		}}))
	},
	"Lost": func(f func()) redlock.Option {
		return redlock.WithTrace(&redlock.Trace{Lost: func(*redlock.Lock, *redlock.LostError) { f() }})
	},
	"Released": func(f func()) redlock.Option {
		return redlock.WithTrace(&redlock.Trace{Released: func(redlock.ReleasedInfo) { f() }})
	},
	"Renewal": func(f func()) redlock.Option {
		return redlock.WithTrace(&redlock.Trace{Renewal: func(redlock.ExtendInfo) { f() }})
	},
	"Node": func(f func()) redlock.Option {
		return redlock.WithTrace(&redlock.Trace{Node: func(i redlock.NodeInfo) {
			if i.Op == "extend" {
				f()
			}
		}})
	},
}

// wantKept makes another client try for ten seconds to get what l holds.
func (s *sim) wantKept(l *redlock.Lock) {
	s.T.Helper()
	other := s.open(redlock.WithLogger(nil))
	ended := l.Context().Done()
	for began := time.Now(); time.Since(began) < 10*time.Second; time.Sleep(100 * time.Millisecond) {
		if _, err := other.TryLock(s.T.Context(), l.Key()); err != nil {
			continue
		}
		select {
		case <-ended:
			s.T.Errorf("%q was lost", l.Key())
		default:
			s.T.Errorf("two hold %q: Done is open, and %v remain", l.Key(), l.Remaining())
		}
		return
	}
	if l.Remaining() == 0 {
		s.T.Errorf("%q is not held any more", l.Key())
	}
}

func TestAListenerThatBlocksTakesNoLockFromItsHolder(t *testing.T) {
	for name, option := range listening {
		t.Run(name, func(t *testing.T) {
			inSim(t, 5, func(t *testing.T, s *sim) {
				release := make(chan struct{})
				defer close(release)
				c := s.open(redlock.WithTTL(2*time.Second), option(func() { <-release }))
				a, b := mustLock(t, c, "a"), mustLock(t, c, "b")
				lost := a.Context()
				s.do("DEL", "a")
				s.wantKept(b)
				select {
				case <-lost.Done():
				default:
					t.Error("the lock that was taken away goes on")
				}
			})
		})
	}
}

// Enabled is users' code, too, and is called for lines that nobody reads.
func TestABlockingLoggerEnabledLosesNoLock(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		var once sync.Once
		release := make(chan struct{})
		defer close(release)
		h := &handler{}
		c := s.open(redlock.WithTTL(2*time.Second), redlock.WithLogger(slog.New(h)))
		mustLock(t, c, "a")
		b := mustLock(t, c, "b")
		synctest.Wait()
		h.enabled = func() { once.Do(func() { <-release }) }
		s.do("DEL", "a")
		s.wantKept(b)
	})
}

// The client dials and judges masters again while a log handler blocks.
func TestALogHandlerThatBlocksKeepsNoMasterAway(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		release := make(chan struct{})
		defer close(release)
		c := s.open(redlock.WithGuard(redlock.GuardOff), redlock.WithLogger(slog.New(&handler{handle: func(text string) {
			if text == "master lost" {
				<-release
			}
		}})))
		l := mustLock(t, c, "key")
		s.Kill(0, 1)
		time.Sleep(time.Second)
		s.Restart(true, 0, 1)
		time.Sleep(time.Second)
		for _, m := range c.Masters() {
			if !m.Connected {
				t.Errorf("%s is not connected: %v", m.Master, m.Err)
			}
		}
		s.Kill(2, 3)
		if err := l.Extend(t.Context()); err != nil { // with two that were down and one that was not
			t.Error(err)
		}
	})
}

func TestCloseReturnsFromInsideAListener(t *testing.T) {
	for name, option := range listening {
		t.Run(name, func(t *testing.T) {
			inSim(t, 5, func(t *testing.T, s *sim) {
				var c *redlock.Client
				var once sync.Once
				took := make(chan time.Duration, 1)
				c = s.open(redlock.WithTTL(2*time.Second), option(func() {
					once.Do(func() {
						began := time.Now()
						_ = c.Close()
						took <- time.Since(began)
					})
				}))
				l := mustLock(t, c, "a")
				s.do("DEL", "a")
				select {
				case took := <-took:
					if took > 1100*time.Millisecond {
						t.Errorf("Close took %v", took)
					}
				case <-time.After(time.Minute):
					t.Fatal("Close has not returned")
				}
				_ = c.Close()
				if l.Remaining() != 0 || l.Context().Err() == nil {
					t.Error("the lock goes on")
				}
			})
		})
	}
}

// A callback that blocks outlives Close, which waits for it for a second at most.
func TestCloseDoesNotWaitForAListenerThatBlocks(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		release := make(chan struct{})
		c := s.open(redlock.WithTTL(2*time.Second), listening["Lost"](func() { <-release }))
		mustLock(t, c, "a")
		b := mustLock(t, c, "b")
		s.do("DEL", "a")
		time.Sleep(time.Second)
		began := time.Now()
		_ = c.Close()
		if took := time.Since(began); took > 1100*time.Millisecond {
			t.Errorf("Close took %v", took)
		}
		if b.Context().Err() == nil || s.On("b") != 0 {
			t.Error("Close has left a lock behind")
		}
		close(release)
	})
}

// A trace runs between the masters' answers and the call's return. The lock still ends when it is
// no longer valid.
func TestALockEndsInTimeHoweverLongATraceTakesWhileItIsAcquired(t *testing.T) {
	for name, trace := range map[string]func(wait func()) *redlock.Trace{
		"Node": func(wait func()) *redlock.Trace {
			var once sync.Once
			return &redlock.Trace{Node: func(redlock.NodeInfo) { once.Do(wait) }}
		},
		"Held": func(wait func()) *redlock.Trace {
			return &redlock.Trace{Held: func(context.Context, *redlock.Lock) context.Context { wait(); return nil }}
		},
		"Wait": func(wait func()) *redlock.Trace { return &redlock.Trace{Wait: func(redlock.WaitInfo) { wait() }} },
	} {
		t.Run(name, func(t *testing.T) {
			inSim(t, 5, func(t *testing.T, s *sim) {
				took := 1500 * time.Millisecond
				c := s.open(redlock.WithTrace(trace(func() { time.Sleep(took) })))
				l := mustLock(t, c, "key", redlock.WithLease(2*time.Second))
				<-l.Context().Done()
				if late := time.Since(l.ValidUntil()); late > time.Millisecond {
					t.Errorf("Done was closed %v after the lock was valid", late)
				}
			})
		})
	}
}

// An attempt that took longer than its lock is valid has failed, and no hold begins.
func TestALockOfWhichATraceHasUsedUpTheValidityIsNotAcquired(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		var once sync.Once
		held := 0
		c := s.open(redlock.WithTrace(&redlock.Trace{
			Node: func(redlock.NodeInfo) { once.Do(func() { time.Sleep(3 * time.Second) }) },
			Held: func(context.Context, *redlock.Lock) context.Context { held++; return nil },
		}))
		_, err := c.TryLock(t.Context(), "key", redlock.WithLease(2*time.Second))
		wantExactly(t, err, redlock.ErrNoQuorum)
		if held != 0 {
			t.Error("the trace was told of a hold")
		}
		s.wantRolledBack("key")
	})
}

// Trace.Held may end the lock: the call then returns a lock that has ended, and nothing brings it
// back.
func TestALockMayBeEndedFromInsideTheTraceThatHearsOfIt(t *testing.T) {
	for name, test := range map[string]struct {
		end  func(s *sim, c *redlock.Client, l *redlock.Lock)
		want []string
		key  bool // the key stays
	}{
		"Unlock": {func(s *sim, _ *redlock.Client, l *redlock.Lock) {
			if err := l.Unlock(s.T.Context()); err != nil {
				s.T.Error(err)
			}
		}, []string{"unlock ok", "held", "released unlocked"}, false},
		"Unlock by a goroutine": {func(s *sim, _ *redlock.Client, l *redlock.Lock) {
			done := make(chan error)
			go func() { done <- l.Unlock(s.T.Context()) }()
			if err := <-done; err != nil {
				s.T.Error(err)
			}
		}, []string{"unlock ok", "held", "released unlocked"}, false},
		"HandOver": {func(s *sim, _ *redlock.Client, l *redlock.Lock) {
			if _, err := l.HandOver(); err != nil {
				s.T.Error(err)
			}
		}, []string{"held", "released handed_over"}, true},
		"Close": {func(_ *sim, c *redlock.Client, _ *redlock.Lock) { _ = c.Close() }, []string{"held", "lost closed", "released closed"}, false},
		"a loss": {func(s *sim, _ *redlock.Client, l *redlock.Lock) {
			s.do("DEL", "key")
			<-l.Context().Done()
		}, []string{"held", "lost expired", "released lost"}, false},
		"the end of its validity": {func(s *sim, _ *redlock.Client, l *redlock.Lock) {
			s.Kill(0, 1, 2)
			time.Sleep(5 * time.Second)
		}, []string{"held", "lost unreachable", "released lost"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			inSim(t, 5, func(t *testing.T, s *sim) {
				var mu sync.Mutex
				var events []string
				note := func(format string, args ...any) {
					mu.Lock()
					defer mu.Unlock()
					events = append(events, fmt.Sprintf(format, args...))
				}
				var c *redlock.Client
				c = s.open(redlock.WithTTL(2*time.Second), redlock.WithTrace(&redlock.Trace{
					Held: func(_ context.Context, l *redlock.Lock) context.Context {
						inside := l.Context()
						test.end(s, c, l)
						if inside.Err() == nil || l.Remaining() != 0 {
							t.Error("the lock goes on")
						}
						note("held")
						return context.WithValue(context.Background(), holdMark{}, true)
					},
					Lost: func(l *redlock.Lock, err *redlock.LostError) { note("lost %v", err.Reason) },
					Released: func(i redlock.ReleasedInfo) {
						note("released %v", endOf(&i))
						if i.Context.Value(holdMark{}) == nil || i.Lock.Remaining() != 0 || i.Lock.Context().Err() == nil {
							t.Errorf("Released was told %+v: %v remaining, %v", i, i.Lock.Remaining(), i.Lock.Context().Err())
						}
					},
					Unlock: func(i redlock.UnlockInfo) { note("unlock %s", kindOf(i.Err)) },
				}))
				l, err := c.Lock(t.Context(), "key")
				if err != nil {
					t.Fatal(err)
				}
				mu.Lock()
				if !slices.Equal(events, test.want) {
					t.Errorf("when Lock returned, told %q, want %q", events, test.want)
				}
				mu.Unlock()
				if l.Context().Err() == nil || l.Remaining() != 0 {
					t.Error("Lock returned a lock that goes on")
				}
				if err := l.Unlock(t.Context()); !errors.Is(err, redlock.ErrNotHeld) {
					t.Errorf("Unlock after that: %v", err)
				}
				on := s.On("key")
				time.Sleep(time.Second)
				if test.key && on == 0 || !test.key && s.On("key") != 0 {
					t.Errorf("the key stands on %d masters, and later on %d", on, s.On("key"))
				}
			})
		})
	}
}

// There may be a pause between the acquisition and the function.
func TestAFunctionDoesNotRunUnderALockThatIsOver(t *testing.T) {
	for name, do := range dos {
		for how, end := range map[string]struct {
			end  func(l *redlock.Lock)
			want []error
		}{
			"lost":     {func(*redlock.Lock) { time.Sleep(3 * time.Second) }, []error{redlock.ErrLost}},
			"unlocked": {func(l *redlock.Lock) { _ = l.Unlock(context.Background()) }, []error{redlock.ErrNotHeld, redlock.ErrUnlocked}},
		} {
			t.Run(name+" "+how, func(t *testing.T) {
				inSim(t, 5, func(t *testing.T, s *sim) {
					c := s.open(redlock.WithTrace(&redlock.Trace{Wait: func(i redlock.WaitInfo) { end.end(i.Lock) }}))
					ran := false
					err := do(c, t.Context(), "key", func(context.Context) error { ran = true; return nil }, redlock.WithLease(2*time.Second))
					wantExactly(t, err, end.want...)
					if ran {
						t.Error("the function ran")
					}
				})
			})
		}
	}
}

// Nobody has taken that lock away, so there is nothing to wait for.
func TestLeadReturnsWhenATraceHasUnlockedItsLock(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		c := s.open(redlock.WithTrace(&redlock.Trace{Held: func(ctx context.Context, l *redlock.Lock) context.Context {
			_ = l.Unlock(context.WithoutCancel(ctx))
			return nil
		}}))
		err := c.Lead(t.Context(), "key", func(context.Context) error { return errWork })
		wantExactly(t, err, redlock.ErrNotHeld, redlock.ErrUnlocked)
		s.wantClean()
	})
}

// recovered runs a function in which a trace panics.
func recovered(t *testing.T, do func()) {
	t.Helper()
	defer func() {
		if r := recover(); r != errWork { //nolint:errorlint // it is the very one
			t.Errorf("recovered %v", r)
		}
	}()
	do()
}

// Node is called for a grant before anybody holds it: after a panic the keys are free.
func TestAnAttemptWhoseTracePanicsIsRolledBack(t *testing.T) {
	for what, at := range map[string]int{"a vote": 1, "the last vote": 5, "the second round of a fencing token": 6} {
		t.Run(what, func(t *testing.T) {
			inUnguardedSim(t, 5, func(t *testing.T, s *sim) {
				calls := 0
				c := s.open(redlock.WithTrace(&redlock.Trace{Node: func(redlock.NodeInfo) {
					if calls++; calls == at {
						panic(errWork)
					}
				}}))
				s.spread("key")
				recovered(t, func() { _, _ = c.Lock(t.Context(), "key", redlock.WithFencing()) })
				time.Sleep(time.Second)
				if n := s.On("key"); n != 0 {
					t.Errorf("%d masters have the key", n)
				}
				_ = c.Close()
				s.wantNoLocks()
			})
		})
	}
}

// The call has acquired nothing: the outer handle is still the only one.
func TestAReentrantCallWhoseTracePanicsLeavesNoHandle(t *testing.T) {
	inUnguardedSim(t, 5, func(t *testing.T, s *sim) {
		armed := ""
		panicIfArmed := func(where string) {
			if where == armed {
				armed = ""
				panic(errWork)
			}
		}
		c := s.open(redlock.WithTrace(&redlock.Trace{
			Begin:  func(ctx context.Context, _ redlock.BeginInfo) context.Context { panicIfArmed("Begin"); return ctx },
			Node:   func(redlock.NodeInfo) { panicIfArmed("Node") },
			Extend: func(redlock.ExtendInfo) { panicIfArmed("Extend") },
			Wait:   func(redlock.WaitInfo) { panicIfArmed("Wait") },
		}))
		for _, where := range []string{"Begin", "Node", "Extend", "Wait"} {
			recovered(t, func() {
				_ = c.Do(t.Context(), "key", func(ctx context.Context) error {
					armed = where
					_, err := c.Lock(ctx, "key", redlock.WithReentrancy(), redlock.WithTTL(time.Minute))
					return err
				})
			})
			if time.Sleep(time.Second); s.On("key") != 0 {
				t.Fatalf("%s: the key is not free", where)
			}
		}
	})
}

// If a caller recovers from a trace's panic, the lock stays held. Only Close releases it.
func TestALockWhoseTracePanicsIsHeldUntilClose(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		c := s.open(redlock.WithTrace(&redlock.Trace{Held: func(context.Context, *redlock.Lock) context.Context { panic(errWork) }}))
		recovered(t, func() { _, _ = c.Lock(t.Context(), "key") })
		time.Sleep(time.Minute)
		if s.On("key") < 3 {
			t.Error("the lock is not held")
		}
		_ = c.Close()
		if n := s.On("key"); n != 0 {
			t.Errorf("Close has left the key on %d masters", n)
		}
	})
}

// Both work with the duration of the hold: this test is for the race detector.
func TestUnansweredExtensionsDoNotRaceWithLongerTTLs(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		c := s.open(redlock.WithLogger(nil))
		l := mustLock(t, c, "key")
		s.Kill(0, 1, 2)
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				for range 500 {
					wantExactly(t, l.Extend(t.Context()), redlock.ErrNoQuorum)
				}
			})
		}
		wg.Go(func() {
			for i := range 500 {
				_, err := c.Lock(l.Context(), "key", redlock.WithReentrancy(), redlock.WithTTL(20*time.Second+time.Duration(i)*time.Millisecond))
				wantExactly(t, err, redlock.ErrNoQuorum)
			}
		})
		wg.Wait()
	})
}
