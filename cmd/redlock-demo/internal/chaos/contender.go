package chaos

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/sleep"
	"github.com/redquorum/redquorum/redlock"
)

// What a contender does.
const (
	stateWaits int32 = iota
	stateHolds
	statePauses
)

var stateNames = [...]string{stateWaits: "waits", stateHolds: "holds", statePauses: "pauses"}

// A contender wants the lock again and again, with a client of its own.
type contender struct {
	*World
	name   string
	client *redlock.Client
	state  atomic.Int32
}

// longestPause is for how long a contender rests, at most.
const longestPause = 100 * time.Millisecond

// run contends until ctx ends.
func (c *contender) run(ctx context.Context) {
	for ctx.Err() == nil {
		c.state.Store(stateWaits)
		lock, err := c.client.Lock(ctx, c.key)
		if err != nil {
			c.refused(ctx, err)
		} else {
			c.hold(ctx, lock)
		}
		c.state.Store(statePauses)
		_ = sleep.For(ctx, rand.N(longestPause)) // the loop looks at ctx
	}
}

// hold keeps the lock for a while, or until it is lost.
func (c *contender) hold(ctx context.Context, lock *redlock.Lock) {
	c.state.Store(stateHolds)
	c.counters.acquired.Add(1)
	stay := c.referee.enter(c.name, lock)
	t := time.NewTimer(c.Hold/2 + rand.N(c.Hold))
	defer t.Stop()
	select {
	case <-t.C:
	case <-lock.Context().Done():
	case <-ctx.Done():
	}
	c.referee.leave(stay)
	cause := context.Cause(lock.Context())
	err := lock.Unlock(context.WithoutCancel(ctx)) // bounded by the masters' timeout
	if lost, ok := errors.AsType[*redlock.LostError](cause); ok || errors.Is(err, redlock.ErrLost) {
		c.counters.lost.Add(1)
		why := "in its last moments"
		if lost != nil {
			why = lost.Reason.String()
		}
		c.tell(EventLoss, "%s lost the lock: %s", c.name, why)
	}
}

func (c *contender) refused(ctx context.Context, err error) {
	switch {
	case ctx.Err() != nil:
	case errors.Is(err, redlock.ErrNoQuorum):
		c.counters.refused.Add(1)
	default: // nothing else is expected
		c.counters.failed.Add(1)
		c.tell(EventFailure, "%s: %v", c.name, err)
		_ = sleep.For(ctx, time.Second) // run looks at ctx
	}
}
