package hold_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/internal/hold"
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/wire"
)

func TestTheLastHandleReleases(t *testing.T) {
	inClient(t, func(t *testing.T, c *client) {
		outer, own := c.acquire("key", hold.Options{})
		inner, _ := c.want("key", hold.Options{})
		inner.Hold().Claim().TTL = 2 * ttl
		if longer, why := inner.Join(outer, true); !longer || why != hold.NotRefused {
			t.Fatalf("join: longer %v, refused %d", longer, why)
		}
		other, _ := c.want("key", hold.Options{})
		if _, why := other.Join(outer, false); why != hold.Reentrant {
			t.Errorf("a join that was not permitted: refusal %d", why)
		}
		if _, p := outer.HandOver(); p == nil || p.Shared != 1 {
			t.Errorf("a shared hold was handed over: %+v", p)
		}
		ctx := outer.Context(context.Background)
		c.release(outer)
		if !errors.Is(context.Cause(ctx), errUnlocked) || outer.IsHeld() || !inner.IsHeld() || c.On("key") != 3 {
			t.Error("one handle's release ended more, or less, than the handle")
		}
		c.release(inner)
		c.wantOn("key", 0)
		if _, why := other.Join(inner, true); why != hold.Over {
			t.Errorf("a hold that is over was joined: refusal %d", why)
		}
		own.wantReports(t, "held", "released")
	})
}

// Close does not wait for an attempt that begins after Close has counted them. Its commands
// could arrive without their rollback.
func TestAttemptBegunAfterCloseSendsNoCommand(t *testing.T) {
	inClient(t, func(t *testing.T, c *client) {
		n, _ := c.want("key", hold.Options{})
		closing := errors.New("the client closes")
		c.beginClosing(closing)
		before := c.commands()
		q := c.begin(n)
		if failed := q.All(t.Context(), false); failed == nil || failed.Cause != closing { //nolint:errorlint // the very one
			t.Errorf("%+v", failed)
		}
		if granted, _, err := q.Pilot(t.Context(), 0, wire.Place{Score: wire.NoPlace}); granted || err != closing { //nolint:errorlint // the very one
			t.Errorf("at the pilot: %t, %v", granted, err)
		}
		synctest.Wait()
		if n := c.commands() - before; n != 0 {
			t.Errorf("%d commands were sent", n)
		}
	})
}

// A pilot that has granted an attempt has the key. If the attempt does not go on, the key is
// released there, and Close does not wait for the attempt any more.
func TestAPilotsVoteThatIsNotUsedIsGivenBack(t *testing.T) {
	for name, leave := range map[string]func(q *hold.Acquisition, c *client){
		"the call ends": func(q *hold.Acquisition, _ *client) { q.End() },
		"another attempt": func(q *hold.Acquisition, c *client) {
			q.Together(c.T.Context(), 0, wire.Place{Score: wire.NoPlace})
		},
	} {
		t.Run(name, func(t *testing.T) {
			inClient(t, func(t *testing.T, c *client) {
				n, _ := c.want("key", hold.Options{})
				q := c.begin(n)
				if granted, _, err := q.Pilot(t.Context(), 0, wire.Place{Score: wire.NoPlace}); !granted {
					t.Fatalf("the pilot did not grant it: %v", err)
				}
				c.wantOn("key", 1)
				leave(q, c)
				if n.IsHeld() {
					c.release(n)
				}
				c.wantOn("key", 0)
				synctest.Wait()
				if n := c.group.InFlight.Load(); n != 0 || c.group.Running.Load() != 0 {
					t.Errorf("%d are in flight", n)
				}
			})
		})
	}
}

// A call for one of several keys aims each attempt at one of them. Its failures name all keys
// that are wanted, and the key that is held.
func TestAttemptsAreAimedAtOneOfSeveralKeys(t *testing.T) {
	inClient(t, func(t *testing.T, c *client) {
		for _, m := range c.All {
			_ = m.Set("b", "another's", time.Minute)
		}
		n, _ := c.want("a", hold.Options{})
		q := c.begin(n)
		q.OneOf("a", 2)
		q.At("b")
		failed := q.All(t.Context(), true)
		if failed == nil || failed.Key != "a" || failed.Others != 2 || len(failed.Parts) == 0 || failed.Parts[0].Held.Key != "b" {
			t.Fatalf("an attempt at b, of three keys: %+v", failed)
		}
		q.At("a")
		if granted, _, err := q.Pilot(t.Context(), 0, wire.Place{Score: wire.NoPlace}); !granted || c.On("a") != 1 {
			t.Fatalf("the pilot did not grant a: %v", err)
		}
		q.At("c") // and gives back that vote
		if failed := q.All(t.Context(), false); failed != nil || n.Hold().Name() != "c" || c.On("a") != 0 || c.On("c") != len(c.All) {
			t.Fatalf("an attempt at c: %+v, and %q is held", failed, n.Hold().Name())
		}
		c.release(n)
	})
}

// A silent master does not count as one that still has the key.
func TestAKeyIsStillHeldIfAQuorumSaysSo(t *testing.T) {
	inClient(t, func(t *testing.T, c *client) {
		n, _ := c.acquire("a", hold.Options{})
		holder := n.Hold().Claim().Token
		for step, want := range []bool{true, true, false} {
			if step > 0 {
				c.Freeze(step)
			}
			if held, cause := c.wire.StillHeld(t.Context(), "a", holder, time.Second); held != want || cause != nil {
				t.Errorf("with %d silent masters of three: %v, %v", step, held, cause)
			}
		}
		c.Thaw(1, 2)
		if held, _ := c.wire.StillHeld(t.Context(), "a", "another", time.Second); held {
			t.Error("another holds it")
		}
		c.release(n)
	})
}

// No question is sent again after the release (S5).
func TestAQuestionIsAskedAgainOnlyWhileItsHoldLives(t *testing.T) {
	inClient(t, func(t *testing.T, c *client) {
		n, _ := c.want("a", hold.Options{})
		if failed := c.begin(n).All(t.Context(), false); failed != nil {
			t.Fatalf("not acquired: %+v", failed)
		}
		again := func() (sent bool) { return n.Hold().SendIfHeld(func() { sent = true }) && sent }
		if !again() {
			t.Error("a question was not asked again while the key is held")
		}
		n.Release(t.Context())
		if again() {
			t.Error("a question was asked again behind the release")
		}
	})
}

// If the clock is set while masters answer, the failure says so, not that they were slow.
func TestFailedAttemptSaysThatTheClockWasSet(t *testing.T) {
	inClient(t, func(t *testing.T, c *client) {
		for _, m := range c.All {
			m.Freeze()
		}
		n, _ := c.want("key", hold.Options{})
		go func() {
			time.Sleep(10 * time.Millisecond)
			c.clock.by.Store(int64(time.Hour))
			for _, m := range c.All {
				m.Thaw()
			}
		}()
		failed := c.begin(n).All(t.Context(), false)
		if failed == nil || failed.Kind != quorum.NoQuorum || !strings.Contains(failed.Note, "clock was set forward by 1h0m0s") {
			t.Errorf("the attempt: %+v", failed)
		}
		c.wantOn("key", 0)
	})
}

// No other client can acquire the key before the holder's context ends. The mutex is unlocked
// meanwhile, because ending a context takes long if many are derived from it.
func TestReleaseIsSentOnlyAfterTheContextEnded(t *testing.T) {
	for name, end := range map[string]func(c *client, n *hold.Handle){
		"Release": func(c *client, n *hold.Handle) { c.release(n) },
		"Leave":   func(_ *client, n *hold.Handle) { n.Leave() },
		"HandOver": func(c *client, n *hold.Handle) {
			if _, p := n.HandOver(); p != nil {
				c.T.Errorf("%+v", p)
			}
		},
		"a loss": func(c *client, _ *hold.Handle) { time.Sleep(ttl); synctest.Wait() },
		"Close":  func(c *client, _ *hold.Handle) { c.manager.ReleaseAll(c.manager.LoseAll(), ttl) },
	} {
		t.Run(name, func(t *testing.T) {
			inClient(t, func(t *testing.T, c *client) {
				n, _ := c.acquire("key", hold.Options{Fixed: true})
				var ended atomic.Bool
				n.OnCancel(func(free func() bool) {
					ended.Store(true)
					synctest.Wait()
					if on := c.On("key"); on != 3 && name != "a loss" || !free() {
						t.Errorf("when the context ends the key is on %d masters, and the mutex is free: %v", on, free())
					}
				})
				end(c, n)
				if !ended.Load() {
					t.Error("the context has not ended")
				}
			})
		})
	}
}
