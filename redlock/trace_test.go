package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

// callMark and holdMark are what a listener puts into the contexts of calls and holds; callerMark
// is what the caller puts there.
type (
	callMark   struct{}
	holdMark   struct{}
	callerMark struct{}
)

// A listener writes down the events of a trace, and whether each has the right context.
type listener struct {
	mu     sync.Mutex
	events []string
	begun  int // calls
	holds  int
}

func (n *listener) note(ctx context.Context, format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	text := fmt.Sprintf(format, args...)
	for _, mark := range []struct {
		name string
		key  any
	}{{"caller", callerMark{}}, {"call", callMark{}}, {"hold", holdMark{}}} {
		if v := ctx.Value(mark.key); v != nil {
			text += fmt.Sprintf(" %s %v", mark.name, v)
		}
	}
	n.events = append(n.events, text)
}

// take returns the events so far, and forgets them.
func (n *listener) take() []string {
	synctest.Wait()
	n.mu.Lock()
	defer n.mu.Unlock()
	events := n.events
	n.events = nil
	return events
}

func kindOf(err error) string {
	for _, sentinel := range everySentinel {
		if errors.Is(err, sentinel) {
			return sentinel.Error()
		}
	}
	if err != nil {
		return err.Error()
	}
	return "ok"
}

// trace listens to everything except Node.
func (n *listener) trace() *redlock.Trace {
	return &redlock.Trace{
		Begin: func(ctx context.Context, i redlock.BeginInfo) context.Context {
			n.note(ctx, "begin %s %s%v once=%v", i.Op, i.Key, i.Keys, i.Once)
			n.begun++
			return context.WithValue(ctx, callMark{}, n.begun)
		},
		Attempt: func(i redlock.AttemptInfo) {
			n.note(i.Context, "attempt %d %s quorum=%v token=%v", i.Attempt, kindOf(i.Err), i.OK >= i.Need && i.Need > 0, i.Token != "")
		},
		Retry: func(i redlock.AttemptInfo) { n.note(i.Context, "retry %d", i.Attempt) },
		Wait: func(i redlock.WaitInfo) {
			n.note(i.Context, "wait %s %s attempts=%d %s lock=%v", i.Op, i.Key, i.Attempts, kindOf(i.Err), i.Lock != nil)
		},
		Held: func(ctx context.Context, l *redlock.Lock) context.Context {
			n.note(ctx, "held %s token=%v", l.Key(), l.Token() != "" && l.Remaining() > 0)
			n.holds++
			return context.WithValue(context.Background(), holdMark{}, n.holds)
		},
		Renewal: func(i redlock.ExtendInfo) {
			n.note(i.Context, "renewal %d %s left=%v", i.Count, kindOf(i.Err), i.Remaining > 0)
		},
		Extend: func(i redlock.ExtendInfo) { n.note(i.Context, "%s %s", i.Op, kindOf(i.Err)) },
		Lost: func(l *redlock.Lock, err *redlock.LostError) {
			n.note(context.Background(), "lost %s %v", l.Key(), err.Reason)
		},
		Released: func(i redlock.ReleasedInfo) {
			n.note(i.Context, "released %v held=%v renewals=%d lost=%v", endOf(&i), i.Held.Round(time.Second), i.Renewals, i.Lost != nil)
		},
		Unlock: func(i redlock.UnlockInfo) {
			n.note(i.Context, "unlock %s asked=%v quorum=%v of hold %v", kindOf(i.Err), i.Need > 0, i.OK >= i.Need, i.Hold.Value(holdMark{}))
		},
	}
}

// endOf says how a hold ended, in the words of metrics and spans.
func endOf(i *redlock.ReleasedInfo) string {
	switch {
	case i.HandedOver:
		return "handed_over"
	case i.Lost == nil:
		return "unlocked"
	case i.Lost.Planned:
		return "planned"
	case i.Lost.Reason == redlock.ReasonClosed:
		return "closed"
	default:
		return "lost"
	}
}

func wantEvents(t *testing.T, n *listener, want ...string) {
	t.Helper()
	wantEventsBeside(t, n, "", want...)
}

// wantEventsBeside is wantEvents for a case in which another goroutine reports one event meanwhile.
// That event may come anywhere.
func wantEventsBeside(t *testing.T, n *listener, other string, want ...string) {
	t.Helper()
	events := n.take()
	if i := slices.Index(events, other); i >= 0 {
		events = slices.Delete(events, i, i+1)
	} else if other != "" {
		t.Errorf("not told: %s", other)
	}
	if !slices.Equal(events, want) {
		t.Errorf("told:\n\t%s\nwant:\n\t%s", strings.Join(events, "\n\t"), strings.Join(want, "\n\t"))
	}
}

func TestATraceIsToldTheLifeOfALockInOrder(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		n := new(listener)
		c := s.open(redlock.WithTrace(n.trace()), redlock.WithTTL(9*time.Second), redlock.WithRenewal(redlock.Renewal{MaxCount: 1}))
		caller := context.WithValue(t.Context(), callerMark{}, "me")

		l := s.must(c.Lock(caller, "key"))
		wantEvents(t, n,
			"begin lock key[] once=false caller me",
			"held key token=true caller me call 1",
			"attempt 1 ok quorum=true token=true caller me call 1",
			"wait lock key attempts=1 ok lock=true caller me call 1")

		if err := l.Extend(caller); err != nil {
			t.Fatal(err)
		}
		_ = l.Verify(caller)
		time.Sleep(4 * time.Second)
		wantEvents(t, n, "extend ok caller me", "verify ok caller me", "renewal 1 ok left=true hold 1")

		if _, err := c.TryLock(t.Context(), "key"); err == nil {
			t.Fatal("locked twice")
		}
		wantEvents(t, n, "begin lock key[] once=true", "attempt 1 taken quorum=false token=true call 2", "wait lock key attempts=1 taken lock=false call 2")

		if err := l.Unlock(caller); err != nil {
			t.Fatal(err)
		}
		wantEvents(t, n, "released unlocked held=4s renewals=1 lost=false hold 1", "unlock ok asked=true quorum=true of hold 1 caller me")

		_ = l.Unlock(t.Context())
		wantEvents(t, n, "unlock not held asked=false quorum=true of hold 1")
	})
}

// Whatever ends a hold, the trace gets its end once.
func TestEveryHoldThatBeginsIsReleasedOnce(t *testing.T) {
	for _, test := range []struct {
		name string
		end  func(t *testing.T, s *sim, c *redlock.Client, l *redlock.Lock)
		want []string // in order
	}{
		{"expired", func(_ *testing.T, s *sim, _ *redlock.Client, _ *redlock.Lock) {
			s.Kill(0, 1, 2)
			time.Sleep(20 * time.Second)
		}, []string{"lost key unreachable", "released lost held=10s renewals=0 lost=true hold 1"}},
		{"Unlock finds it gone", func(t *testing.T, s *sim, _ *redlock.Client, l *redlock.Lock) {
			s.do("FLUSHALL")
			wantExactly(t, l.Unlock(t.Context()), redlock.ErrNotHeld, redlock.ErrLost)
		}, []string{"lost key expired", "released lost held=0s renewals=0 lost=true hold 1", "unlock lost asked=true quorum=false of hold 1"}},
		{"Unlock without a quorum", func(t *testing.T, s *sim, _ *redlock.Client, l *redlock.Lock) {
			s.Kill(0, 1, 2)
			wantExactly(t, l.Unlock(t.Context()), redlock.ErrNoQuorum)
		}, []string{"released unlocked held=0s renewals=0 lost=false hold 1", "unlock no quorum asked=true quorum=false of hold 1"}},
		{"handed over", func(t *testing.T, _ *sim, _ *redlock.Client, l *redlock.Lock) {
			if _, err := l.HandOver(); err != nil {
				t.Error(err)
			}
		}, []string{"released handed_over held=0s renewals=0 lost=false hold 1"}},
		{"closed", func(_ *testing.T, _ *sim, c *redlock.Client, _ *redlock.Lock) { _ = c.Close() },
			[]string{"lost key closed", "released closed held=0s renewals=0 lost=true hold 1"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			inSim(t, 5, func(t *testing.T, s *sim) {
				n := new(listener)
				c := s.open(redlock.WithTrace(n.trace()))
				l := mustLock(t, c, "key")
				n.take()
				test.end(t, s, c, l)
				_ = c.Close()
				events := slices.DeleteFunc(n.take(), func(s string) bool { return strings.HasPrefix(s, "renewal") })
				// The call reports its own events, and the deliverer reports a loss.
				i := slices.IndexFunc(events, func(s string) bool { return strings.HasPrefix(s, "unlock lost") })
				if i >= 0 {
					line := events[i]
					events = append(slices.Delete(events, i, i+1), line)
				}
				if !slices.Equal(events, test.want) {
					t.Errorf("told %q, want %q", events, test.want)
				}
			})
		})
	}
}

func TestAnAdoptionIsTold(t *testing.T) {
	inSim(t, 3, func(t *testing.T, s *sim) {
		n := new(listener)
		c := s.open(redlock.WithTrace(n.trace()))
		token, err := mustLock(t, s.open(), "key").HandOver()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Adopt(t.Context(), "key", token); err != nil {
			t.Fatal(err)
		}
		_, err = c.Adopt(t.Context(), "other", token)
		wantExactly(t, err, redlock.ErrNotHeld)
		wantEvents(t, n,
			"begin adopt key[] once=true", "held key token=true call 1", "wait adopt key attempts=1 ok lock=true call 1",
			"begin adopt other[] once=true", "wait adopt other attempts=1 not held lock=false call 2")
	})
}

// A slow master does not delay a decision, so only its pool's counters show it.
func TestLateRepliesAreCountedInStats(t *testing.T) {
	inSim(t, 5, func(t *testing.T, s *sim) {
		nodes := make(map[string]redlock.NodeInfo)
		c := s.open(redlock.WithTrace(&redlock.Trace{Node: func(i redlock.NodeInfo) { nodes[i.Master] = i }}))
		before := c.Stats().Masters[4]
		s.Freeze(4)
		time.AfterFunc(300*time.Millisecond, func() { s.Thaw(4) })
		l := mustLock(t, c, "key")
		if n := nodes[before.Name]; n.Err == nil || n.Refused || n.Latency != 0 || n.Token != l.Token() || n.Op != "lock" || n.Key != "key" || n.Context == nil || n.At.IsZero() {
			t.Errorf("of the frozen one, before it answers: %+v", n)
		}
		time.Sleep(200 * time.Millisecond)
		if now := c.Stats().Masters[4]; now.Agreed != before.Agreed {
			t.Errorf("counted before it answers: %+v", now)
		}
		time.Sleep(time.Second)
		now := c.Stats().Masters[4]
		slow := now.RoundTripSum - before.RoundTripSum
		if now.Agreed != before.Agreed+1 || slow < 300*time.Millisecond || slow > 301*time.Millisecond {
			t.Errorf("before it answered %+v, then %+v", before, now)
		}
		if _, err := s.open().TryLock(t.Context(), "key"); err == nil {
			t.Fatal("two hold the key")
		}
		_, err := c.TryLock(t.Context(), "key") // the key is ours, so it is refused
		refused := 0
		for _, n := range nodes {
			if n.Refused {
				refused++
			}
		}
		if wantExactly(t, err, redlock.ErrTaken); refused < 3 {
			t.Errorf("%d masters refused", refused)
		}
	})
}

// Neither the log nor the reason for a refusal shows passwords or the client's own tokens, with
// which its locks can be released.
func TestNoSecretIsLogged(t *testing.T) {
	inUnguardedSim(t, 3, func(t *testing.T, s *sim) {
		const password = "s3cret"
		log := new(logBuffer)
		rejected := s.open(redlock.WithLogger(log.logger()), redlock.WithOutageWait(0),
			redlock.WithPool(pool.WithDialer(s.Dialer()), pool.WithAuth("eve", password)))
		_, refused := rejected.Lock(t.Context(), "key")
		wantExactly(t, refused, redlock.ErrNoQuorum)
		for _, m := range rejected.Masters() {
			refused = errors.Join(refused, m.Err)
		}
		c := s.open(redlock.WithLogger(log.logger()))
		l := mustLock(t, c, "key")
		_ = l.Extend(t.Context())
		s.do("FLUSHALL")
		_ = l.Unlock(t.Context())
		kept := mustLock(t, c, "other")
		neighbour := s.open(redlock.WithLogger(log.logger()))
		_, taken := neighbour.TryLock(t.Context(), "other")
		wantExactly(t, taken, redlock.ErrTaken)
		refused = errors.Join(refused, taken)
		if h, ok := errors.AsType[*redlock.Holder](taken); !ok || h.Token != kept.Token() {
			t.Errorf("%+v has not the whole token", h)
		}
		s.Kill(0, 1)
		time.Sleep(20 * time.Second) // renewals fail, then it is lost
		for _, secret := range []string{password, l.Token(), kept.Token()} {
			if text := log.String() + refused.Error(); strings.Contains(text, secret) {
				t.Errorf("%q is in:\n%s", secret, text)
			}
		}
		for _, want := range []string{
			"WRONGPASS", "renewal failed", `level=DEBUG msg="lock acquired" key=key attempt=1`,
			`level=DEBUG msg="attempt failed" key=other attempt=1`, `level=WARN msg="lock lost" key=key reason=expired`,
		} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("the log lacks %q:\n%s", want, log.String())
			}
		}
	})
}

// The last handle may be one whose call failed.
func TestAHoldEndsWhenItsLastHandleFails(t *testing.T) {
	inSim(t, 3, func(t *testing.T, s *sim) {
		n := new(listener)
		c := s.open(redlock.WithTrace(n.trace()))
		outer := mustLock(t, c, "key")
		n.take()
		s.Freeze(0, 1)
		time.AfterFunc(50*time.Millisecond, func() { _ = outer.Unlock(t.Context()) })
		_, err := c.Lock(outer.Context(), "key", redlock.WithReentrancy(), redlock.WithTTL(30*time.Second))
		wantExactly(t, err, redlock.ErrNoQuorum, context.Canceled)
		synctest.Wait() // until Unlock has reported
		s.Thaw(0, 1)
		wantEventsBeside(t, n, "unlock ok asked=false quorum=true of hold 1",
			"extend no quorum",
			"released unlocked held=0s renewals=0 lost=false hold 1",
			"begin lock key[] once=false", "wait lock key attempts=0 no quorum lock=false call 2")
	})
}

// A count of waiting calls, or of held locks, by key is zero when all have ended, whatever was
// locked and however it ended.
func TestTraceEventsOfACallAndAHoldHaveTheSameKey(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			inSim(t, 3, func(t *testing.T, s *sim) {
				s.T = t
				var mu sync.Mutex
				open := make(map[string]int)
				count := func(what, key string, n int) {
					mu.Lock()
					defer mu.Unlock()
					if open[what+" "+key] += n; open[what+" "+key] == 0 {
						delete(open, what+" "+key)
					}
				}
				begun := 0
				c := s.open(redlock.WithTrace(&redlock.Trace{
					Begin: func(_ context.Context, i redlock.BeginInfo) context.Context {
						begun++
						count("call", i.Key, 1)
						return nil
					},
					Wait: func(i redlock.WaitInfo) {
						if count("call", i.Key, -1); (i.Lock == nil) != (i.Err != nil) {
							t.Errorf("told of %v beside %v", i.Lock, i.Err)
						}
					},
					Held:     func(_ context.Context, l *redlock.Lock) context.Context { count("hold", l.Key(), 1); return nil },
					Released: func(i redlock.ReleasedInfo) { count("hold", i.Key, -1) },
				}))
				for range 8 {
					l := s.must(k.lock(c, t.Context(), ab))
					if again, err := k.lock(c, l.Context(), ab, redlock.WithReentrancy()); err == nil {
						unlock(t, again)
					}
					unlock(t, l)
				}
				held := kindsOfHolders["set"](s, s.open())
				_, err := k.try(c, t.Context(), ab)
				wantExactly(t, err, redlock.ErrTaken)
				_, err = k.lock(c, t.Context(), ab, redlock.WithTries(3))
				wantExactly(t, err, redlock.ErrTaken)
				cancelled, woken := k.waits(s, c), k.waits(s, c)
				time.Sleep(time.Second)
				cancelled.cancel()
				<-cancelled.done
				time.Sleep(time.Second) // the other one is in the queue
				woken.mustBeWoken(t, func() { unlock(t, held[0]) })
				unlock(t, woken.lock)
				_ = s.must(k.lock(c, t.Context(), ab))
				s.Kill(0, 1)
				time.Sleep(time.Minute)
				_, err = k.try(c, t.Context(), ab)
				wantExactly(t, err, redlock.ErrNoQuorum)
				if len(open) != 0 || begun < 20 {
					t.Errorf("%d calls have begun, and are counted still: %v", begun, open)
				}
			})
		})
	}
}
