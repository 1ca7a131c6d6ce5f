package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/redlock"
	"github.com/redquorum/redquorum/redlock/fleets"
	"github.com/redquorum/redquorum/test/proof/history"
)

// An active hold is one that has not been given back.
type active struct {
	lock fleets.Hold
	hold *history.Hold
}

// one is the lock where it is one of one fleet.
func (a *active) one() *redlock.Lock { return a.lock.(*redlock.Lock) }

// granted notes that a client holds a lock.
func (c *client) granted(l fleets.Hold, kind Kind, worker int, shared bool, asked time.Duration) *active {
	w := c.w
	a := &active{l, &history.Hold{
		Client: fmt.Sprintf("%s.%d", c.name, worker), Op: string(kind), Shared: shared,
		Fence: l.Fence(), Asked: asked, Granted: w.now(),
	}}
	if lock, ok := l.(*redlock.Lock); ok {
		a.hold.Keys, a.hold.Token = lock.Keys(), lock.Token()
	} else {
		a.hold.Keys, a.hold.Token = []string{l.Key()}, c.both()
	}
	until := c.refresh(a)
	w.move.noteHold(c, a.hold)
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

// began is when the attempt began that has got a lock: validity runs from then.
func (c *client) began(l fleets.Hold) time.Duration {
	p := c.w.p
	validity := c.ttl()
	if !p.NoDrift {
		validity = drift.Default.Validity(c.ttl(), 0)
	}
	if p.Guard == redlock.GuardStrict {
		validity -= guard.Skew(c.ttl()) + guard.Skew(p.MaxTTL) + p.ClockError
	}
	return c.w.now() - c.clock.real(validity-l.Remaining()) - time.Microsecond
}

// refresh reads until when the client believes in its hold.
func (c *client) refresh(a *active) (until time.Duration) {
	left := a.lock.Remaining()
	c.mu.Lock()
	defer c.mu.Unlock()
	if a.hold.Ended == 0 && left > 0 {
		a.hold.Until = c.w.now() + c.clock.real(left)
	} else if a.hold.Until == 0 || a.hold.Until > c.w.now() && left <= 0 {
		a.hold.Until = c.w.now()
	}
	return a.hold.Until
}

// ended notes that the client does not believe in the hold any more.
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
		c.w.trace.detail(c.name, fmt.Sprintf("gets nowhere with %s in attempt %d of the call", info.Key, info.Attempt), info.Err)
	}
}

// renewed is the trace's hook.
func (c *client) renewed(info redlock.RenewalInfo) {
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
	for _, a := range c.holds() {
		if a.lock == l {
			c.w.net.count(func(s *Stats) { s.Lost++ })
			c.ended(a, "HAS LOST ("+err.Reason.String()+")")
			if c.w.p.KeepsAll {
				c.w.violated(history.Needless, c.name+" loses "+l.Key()+": "+err.Error())
			}
		}
	}
}
