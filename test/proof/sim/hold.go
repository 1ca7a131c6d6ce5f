package sim

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/redlock"
	"github.com/redquorum/redquorum/test/proof/history"
)

// An active hold has not ended yet.
type active struct {
	lock *redlock.Lock
	hold *history.Hold
}

// granted notes that a client holds a lock.
func (c *client) granted(l *redlock.Lock, kind Kind, worker int, shared bool, asked time.Duration) *active {
	w := c.w
	a := &active{l, &history.Hold{
		Client: fmt.Sprintf("%s.%d", c.name, worker), Op: string(kind), Shared: shared,
		Keys: l.Keys(), Token: l.Token(), Fence: l.Fence(), Asked: asked, Granted: w.now(),
	}}
	if w.p.Blocks != 0 {
		_ = l.Context() // heard checks that this context ends in time
	}
	if w.p.Meddles && !w.tcp { // code of users may end it at any time
		context.AfterFunc(l.Context(), func() { c.ended(a, "hears of the end of") })
	}
	until := c.refresh(a)
	w.mu.Lock()
	w.history = append(w.history, a.hold)
	w.mu.Unlock()
	c.mu.Lock()
	c.active = append(c.active, a)
	c.mu.Unlock()
	w.net.count(func(s *Stats) { s.Granted++ })
	w.trace.note(a.hold.Client, fmt.Sprintf("IS GRANTED %s by %v until %v, asked at %v, token …%s",
		strings.Join(a.hold.Keys, "+"), kind, until, asked, a.hold.Token[len(a.hold.Token)-8:]))
	return a
}

// began returns when the attempt that got a lock began: its validity runs from then.
func (c *client) began(l *redlock.Lock) time.Duration {
	p := c.w.p
	validity := c.ttl()
	if !p.NoDrift {
		validity = drift.Default.Validity(c.ttl(), 0)
	}
	if c.set.guard == redlock.GuardStrict {
		validity -= guard.Skew(c.ttl()) + guard.Skew(c.set.maxTTL) + p.ClockError
	}
	now := c.w.now()
	return now - c.clock.real(validity-l.Remaining()) - time.Microsecond
}

// refresh reads until when the client believes in its hold.
func (c *client) refresh(a *active) (until time.Duration) {
	now := c.w.now() // read first: over TCP time goes on
	left := a.lock.Remaining()
	c.mu.Lock()
	defer c.mu.Unlock()
	if a.hold.Ended == 0 && left > 0 {
		a.hold.Until = now + c.clock.real(left)
	} else if a.hold.Until == 0 || a.hold.Until > now && left <= 0 {
		a.hold.Until = now
	}
	return a.hold.Until
}

// ended notes that the client no longer believes in the hold.
func (c *client) ended(a *active, how string) {
	c.refresh(a)
	c.mu.Lock()
	if a.hold.Ended == 0 {
		a.hold.Ended = c.w.now()
	}
	c.active = slices.DeleteFunc(c.active, func(other *active) bool { return other == a })
	end := a.hold.End()
	c.mu.Unlock()
	c.w.trace.note(a.hold.Client, fmt.Sprintf("%s %s, believed in until %v", how, strings.Join(a.hold.Keys, "+"), end))
}

func (c *client) holds() []*active {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.active)
}

// attempted is the trace's hook.
func (c *client) attempted(info redlock.AttemptInfo) {
	if info.Err != nil {
		text := fmt.Sprintf("gets nowhere with %s in attempt %d of the call", info.Key, info.Attempt)
		c.w.trace.detail(c.name, text, info.Err)
	}
}

// renewed is the trace's hook.
func (c *client) renewed(info redlock.ExtendInfo) {
	c.listen()
	if info.Err != nil {
		c.w.trace.detail(c.name, "fails to renew "+info.Key, info.Err)
		return
	}
	c.w.net.count(func(s *Stats) { s.Extended++ })
	for _, a := range c.holds() {
		if a.lock.Key() == info.Key {
			c.w.trace.note(a.hold.Client, fmt.Sprintf("has renewed %s until %v", info.Key, c.refresh(a)))
		}
	}
}

// lost is the trace's hook.
func (c *client) lost(l *redlock.Lock, err *redlock.LostError) {
	c.listen()
	for _, a := range c.holds() {
		if a.lock == l {
			c.w.net.count(func(s *Stats) { s.Lost++ })
			c.ended(a, "HAS LOST ("+string(err.Reason)+")")
			if c.w.p.KeepsAll {
				c.w.violated(history.Needless, c.name+" loses "+l.Key()+": "+err.Error())
			}
		}
	}
}
