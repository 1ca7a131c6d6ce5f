package hold_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/internal/hold"
	"github.com/redquorum/redquorum/internal/outcome"
	"github.com/redquorum/redquorum/internal/pilot"
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
		r, p := n.Release(t.Context(), c.now())
		if p != nil || r.OK < 2 || r.Need != 2 {
			t.Errorf("release: %+v, %+v", r, p)
		}
		c.wantOn("key", 0)
		own.wasTold(t, "held", "renewed 1 true", "renewed 2 true", "renewed 3 true", "released after loss false")
	})
}

func TestAFailedAttemptIsRolledBackAndTheHandleTriesAgain(t *testing.T) {
	inClient(t, func(t *testing.T, c *client) {
		first, _ := c.acquire("key", hold.Options{})
		second, own := c.want("key", hold.Options{})
		q := c.begin(second)
		failed := q.All(t.Context(), true)
		if failed == nil || failed.Kind != outcome.Taken || len(failed.Parts) == 0 || failed.Parts[0].Held == nil {
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
		second.Release(t.Context(), c.now())
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
		_, p := n.Extend(t.Context(), c.now())
		if p == nil || p.Loss == nil || !p.Loss.Planned {
			t.Errorf("Extend after that: %+v, want the planned loss", p)
		}
		n.Release(t.Context(), c.now())
		own.wasTold(t, "held", "lost 1", "released after loss true")
	})
}

// Whoever looks first notices the end of the validity: no timer is waited for (S7).
func TestAnExpiryIsNoticedByWhoeverLooks(t *testing.T) {
	inClient(t, func(t *testing.T, c *client) {
		n, own := c.acquire("key", hold.Options{Fixed: true})
		c.stop() // no keeper looks
		time.Sleep(ttl)
		if n.IsHeld() {
			t.Error("held after its TTL")
		}
		own.wasTold(t, "held", "lost 1", "released after loss true")
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
		if _, p := outer.HandOver(c.now()); p == nil || p.Shared != 1 {
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
		own.wasTold(t, "held", "released after loss false")
	})
}

func TestAHandedOverHoldIsAdoptedByItsToken(t *testing.T) {
	inClient(t, func(t *testing.T, c *client) {
		n, own := c.acquire("key", hold.Options{})
		token, p := n.HandOver(c.now())
		if p != nil || token == "" {
			t.Fatalf("hand over: %q, %+v", token, p)
		}
		c.wantOn("key", 3)
		own.wasTold(t, "held", "released after loss false")
		wrong, _ := c.want("key", hold.Options{})
		if failed := wrong.Adopt(t.Context(), "another"); failed == nil || failed.Kind != outcome.NotHeld {
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
		asked, q := make(chan *outcome.Failure), c.begin(late)
		go func() { asked <- q.All(t.Context(), false) }()
		synctest.Wait()
		c.endLife(errClosed)
		valid := c.home.LoseAll()
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
		c.home.ReleaseAll(valid, ttl)
		if c.On("key") != 0 || c.On("other") != 0 {
			t.Error("keys are left")
		}
		own.wasTold(t, "held", "lost 4", "released after loss true")
		lateOwner.wasTold(t, "held", "released after loss true")
	})
}

// Close does not wait for an attempt that begins when it has looked. What that sends could
// arrive, and its rollback could not.
func TestAnAttemptThatBeginsBehindCloseAsksNobody(t *testing.T) {
	inClient(t, func(t *testing.T, c *client) {
		n, _ := c.want("key", hold.Options{})
		closing := errors.New("the client closes")
		c.endLife(closing)
		before := c.commands()
		q := c.begin(n)
		if failed := q.All(t.Context(), false); failed == nil || failed.Cause != closing { //nolint:errorlint // the very one
			t.Errorf("%+v", failed)
		}
		if granted, _, err := q.Pilot(t.Context(), 0, "key", wire.Place{Score: wire.NoPlace}); granted || err != closing { //nolint:errorlint // the very one
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
		"the call ends":   func(q *hold.Acquisition, _ *client) { q.End() },
		"another attempt": func(q *hold.Acquisition, c *client) { q.All(c.T.Context(), false) },
	} {
		t.Run(name, func(t *testing.T) {
			inClient(t, func(t *testing.T, c *client) {
				n, _ := c.want("key", hold.Options{})
				q := c.begin(n)
				if granted, _, err := q.Pilot(t.Context(), 0, "key", wire.Place{Score: wire.NoPlace}); !granted {
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

// An attempt may settle on one of several keys, or ask for one alone; when it comes to
// nothing the next one is for all of them again.
func TestAnAttemptAtOneOfSeveralKeysIsFollowedByOneAtAll(t *testing.T) {
	inClient(t, func(t *testing.T, c *client) {
		n, _ := c.want("a", hold.Options{})
		n.Hold().Several(wire.AnyOf, []string{"a", "b"}, []string{"a", "b"})
		q := c.begin(n)
		if granted, _, err := q.Pilot(t.Context(), 0, "b", wire.Place{Score: wire.NoPlace}); !granted {
			t.Fatalf("the pilot did not grant b: %v", err)
		}
		if h := n.Hold(); h.Name() != "b" || len(h.Others()) != 0 {
			t.Errorf("an attempt at b alone is for %q and %q", h.Name(), h.Others())
		}
		if name, others := n.Hold().Wanted(); name != "a" || others != 1 {
			t.Errorf("what is wanted is %q and %d more", name, others)
		}
		q.Taken(pilot.None, nil)
		if h := n.Hold(); h.Name() != "a" || len(h.Others()) != 1 || h.Claim().Kind != wire.AnyOf {
			t.Errorf("the next attempt is for %q and %q", h.Name(), h.Others())
		}
		if failed := q.All(t.Context(), false); failed != nil {
			t.Fatalf("not acquired: %+v", failed)
		}
		h := n.Hold()
		if len(h.Others()) != 0 || c.On("a")+c.On("b") != c.On(h.Name()) {
			t.Errorf("%q is held, and keys stand on %d and %d masters", h.Name(), c.On("a"), c.On("b"))
		}
		n.Release(t.Context(), c.now())
	})
}

// What was asked about a writer is not asked again about the reader that it has become,
// nor when the release has been sent (S5).
func TestAQuestionIsAskedAgainOnlyForTheHoldThatItWasAbout(t *testing.T) {
	inClient(t, func(t *testing.T, c *client) {
		n, _ := c.acquire("key", hold.Options{})
		generation := n.Hold().Claim().Generation
		again := func(generation uint8) (sent bool) {
			return n.Hold().IfLive(generation, func() { sent = true }) && sent
		}
		if !again(generation) {
			t.Error("a question about the writer was not asked again while that is held")
		}
		if _, p := n.Downgrade(t.Context(), c.now()); p != nil {
			t.Fatalf("downgrade: %+v", p)
		}
		if again(generation) {
			t.Error("a question about the writer was asked again about the reader")
		}
		if !again(n.Hold().Claim().Generation) {
			t.Error("a question about the reader was not asked again while that is held")
		}
		n.Release(t.Context(), c.now())
		if again(n.Hold().Claim().Generation) {
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
		if failed == nil || failed.Kind != outcome.NoQuorum || !strings.Contains(failed.Note, "clock was set forward by 1h0m0s") {
			t.Errorf("the attempt: %+v", failed)
		}
		c.wantOn("key", 0)
	})
}
