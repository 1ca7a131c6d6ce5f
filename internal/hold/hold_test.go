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

func TestAHoldIsToldItsLifeInOrder(t *testing.T) {
	inClient(t, func(t *testing.T, c *client) {
		n, own := c.acquire("key", hold.Options{})
		c.wantOn("key", 3)
		time.Sleep(ttl) // renewed at each third of it
		synctest.Wait()
		if left := n.Remaining(); left < ttl/2 {
			t.Errorf("%v left after renewals, want most of %v", left, ttl)
		}
		r, p := n.Release(t.Context())
		if p != nil || r.OK < 2 || r.Need != 2 {
			t.Errorf("release: %+v, %+v", r, p)
		}
		c.wantOn("key", 0)
		own.wasTold(t, "held", "renewed 1 true", "renewed 2 true", "renewed 3 true", "released")
	})
}

func TestAFailedAttemptIsRolledBackAndTheHandleTriesAgain(t *testing.T) {
	inClient(t, func(t *testing.T, c *client) {
		first, _ := c.acquire("key", hold.Options{})
		second, own := c.want("key", hold.Options{})
		q := c.begin(second)
		failed := q.All(t.Context(), true)
		if failed == nil || failed.Kind != quorum.Taken || len(failed.Parts) == 0 || failed.Parts[0].Held == nil {
			t.Fatalf("the second attempt: %+v, want it taken, and by whom", failed)
		}
		before := second.Hold()
		c.release(first)
		synctest.Wait()
		if failed := q.All(t.Context(), false); failed != nil {
			t.Fatalf("the third attempt: %+v", failed)
		}
		if second.Hold() == before {
			t.Error("the next attempt has the same hold: late answers would reach it")
		}
		if before.Claim().Token == second.Hold().Claim().Token {
			t.Error("two attempts have one token (S3)")
		}
		own.wasTold(t, "held")
		second.Release(t.Context())
	})
}

func TestALossIsToldOnceAndEndsTheContext(t *testing.T) {
	inClient(t, func(t *testing.T, c *client) {
		n, own := c.acquire("key", hold.Options{Fixed: true})
		ctx := n.Context(context.Background)
		time.Sleep(ttl)
		synctest.Wait()
		if ctx.Err() == nil {
			t.Fatal("the context of a lease that is over has not ended")
		}
		if cause := context.Cause(ctx); cause == nil || cause.Error() != "lost: reason 1" {
			t.Errorf("the cause is %v", cause)
		}
		_, p := n.Extend(t.Context())
		if p == nil || p.Loss == nil || !p.Loss.Planned {
			t.Errorf("Extend after that: %+v, want the planned loss", p)
		}
		n.Release(t.Context())
		own.wasTold(t, "held", "lost 1")
	})
}

// Whoever looks first notices the end of the validity: no timer is waited for (S7).
func TestAnExpiryIsNoticedByWhoeverLooks(t *testing.T) {
	inClient(t, func(t *testing.T, c *client) {
		n, own := c.acquire("key", hold.Options{Fixed: true})
		c.stop() // no renewer looks
		time.Sleep(ttl)
		if n.IsHeld() {
			t.Error("held after its TTL")
		}
		synctest.Wait()
		own.wasTold(t, "held", "lost 1")
	})
}

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
		own.wasTold(t, "held", "released")
	})
}

func TestAHandedOverHoldIsAdoptedByItsToken(t *testing.T) {
	inClient(t, func(t *testing.T, c *client) {
		n, own := c.acquire("key", hold.Options{})
		token, p := n.HandOver()
		if p != nil || token == "" {
			t.Fatalf("hand over: %q, %+v", token, p)
		}
		c.wantOn("key", 3)
		own.wasTold(t, "held", "released")
		wrong, _ := c.want("key", hold.Options{})
		if failed := wrong.Adopt(t.Context(), "another"); failed == nil || failed.Kind != quorum.NotHeld {
			t.Errorf("adopted with another token: %+v", failed)
		}
		adopted, _ := c.want("key", hold.Options{})
		if failed := adopted.Adopt(t.Context(), token); failed != nil {
			t.Fatalf("adopt: %+v", failed)
		}
		c.release(adopted)
	})
}

// When the client closes contexts end first, and what is held is given back after that.
func TestCloseEndsHoldsAndThenReleasesThem(t *testing.T) {
	inClient(t, func(t *testing.T, c *client) {
		n, own := c.acquire("key", hold.Options{})
		ctx := n.Context(context.Background)
		for _, m := range c.All {
			m.Freeze()
		}
		late, lateOwner := c.want("other", hold.Options{})
		asked, q := make(chan *quorum.Failure), c.begin(late)
		go func() { asked <- q.All(t.Context(), false) }()
		synctest.Wait()
		c.beginClosing(errClosed)
		valid := c.manager.LoseAll()
		for _, m := range c.All {
			m.Thaw()
		}
		if failed := <-asked; failed == nil || !errors.Is(failed.Cause, errClosed) {
			t.Errorf("acquired after Close began: %+v", failed)
		}
		if len(valid) != 1 || valid[n.Hold()] < ttl/2 {
			t.Errorf("what was held: %v", valid)
		}
		if ctx.Err() == nil || c.On("key") != 3 {
			t.Error("the context goes on, or the key is gone already")
		}
		c.manager.ReleaseAll(valid, ttl)
		if c.On("key") != 0 || c.On("other") != 0 {
			t.Error("keys are left")
		}
		own.wasTold(t, "held", "lost 4")
		lateOwner.wasTold(t) // it was never held
	})
}

// Close does not wait for an attempt that begins when it has looked. What that sends could
// arrive, and its rollback could not.
func TestAnAttemptThatBeginsBehindCloseAsksNobody(t *testing.T) {
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

// A pilot that has granted an attempt has the key. Whoever does not go on with the attempt gives
// that back, and Close does not wait for the attempt any more.
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

// A call for one of several keys aims each attempt at one of them. Its failures name all that is
// wanted, and the key that is in the way.
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

// Masters that are silent say nothing of who holds a key.
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

// Nothing is asked again when the release has been sent (S5).
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

// Whose clock is set while masters answer is told so, and not that they were slow.
func TestAnAttemptDuringWhichTheClockIsSetSaysSo(t *testing.T) {
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

// Nobody can be granted the key before its holder knows, and nobody waits for the mutex
// meanwhile: to end a context takes long where many are derived from it.
func TestAReleaseIsQueuedWhenTheContextHasEnded(t *testing.T) {
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
