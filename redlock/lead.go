package redlock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redquorum/redquorum/internal/quorum"
)

// The pause between two rounds of Lead counts from the start of one to the start of the next.
const (
	leastLeadPause = 100 * time.Millisecond
	mostLeadPause  = 10 * time.Second
)

// Lead runs lead whenever this client holds key, again and again: for work that one of several
// processes does, for as long as it lives. It waits for the lock as Lock does, and calls lead with
// a child of ctx that ends when the lock can no longer be guaranteed. If the lock is lost, Lead
// waits until lead has returned, if it ran at all, and then waits for the lock again. So lead never
// runs twice at a time in one call. It has to return soon when its context ends.
//
// If lead returns while the lock is held, the leader steps down: Lead releases the lock and returns
// the error of lead, or nil. Lead also returns when ctx ends while it waits, with an error that
// matches ctx's error; with ErrClosed when the client is closed; with ErrReentrant; with the error
// of a bad argument; and, as Do does, with ErrNotHeld and ErrUnlocked if a Trace has unlocked the
// lock before lead could begin.
//
// It does not return because masters are down or refuse. It tries again after a pause,
// 100 ms at first and up to 10 s while there is no quorum. Each reason for that is logged
// at warn once, until there is a quorum again.
func (c *Client) Lead(ctx context.Context, key string, lead func(ctx context.Context) error, opts ...LockOption) error {
	if lead == nil {
		return fmt.Errorf("redlock: lead %q: the function is nil", key)
	}
	if err := c.check(ctx); err != nil {
		return fmt.Errorf("redlock: lead %q: %w", key, err)
	}
	var logged []string
	pause := leastLeadPause
	for {
		began := time.Now()
		over, err := c.leadOnce(ctx, key, lead, opts)
		if over {
			return err
		}
		reasons := refusalsOf(err)
		if !isSubset(reasons, logged) {
			c.opts.logger.Warn("not leading", "key", key, "error", err)
			logged = append(logged, reasons...)
		}
		if reasons == nil {
			logged, pause = nil, leastLeadPause
		}
		if err := quorum.Pause(ctx, c.group.Closing, pause-time.Since(began), nil); err != nil {
			return endedBy(ctx, fmt.Errorf("redlock: lead %q: %w", key, err))
		}
		pause = min(2*pause, mostLeadPause)
	}
}

// leadOnce leads once, if it gets the lock. If over is set, Lead returns err. Otherwise the lock
// was lost, or err says why it was not acquired.
func (c *Client) leadOnce(
	ctx context.Context, key string, lead func(ctx context.Context) error, opts []LockOption,
) (over bool, err error) {
	l, err := c.Lock(ctx, key, opts...)
	if err != nil {
		_, decided := errors.AsType[*QuorumError](err)
		ended := ctx.Err() != nil // it may end at any moment
		return !decided || ended, endedBy(ctx, err)
	}
	lost, err := l.run(ctx, lead)
	if lost != nil {
		return false, nil
	}
	return true, err
}

// refusalsOf returns what keeps a client from leading, without details that change between attempts
// or masters; nil: somebody else leads, or nothing keeps it.
func refusalsOf(err error) []string {
	q, ok := errors.AsType[*QuorumError](err)
	if !ok || errors.Is(err, ErrTaken) {
		return nil
	}
	reasons := []string{q.kind.Error()}
	for n := range q.NodeErrors() {
		reason := fmt.Sprintf("%T", n.Err)
		if why, ok := errors.AsType[*AbstainError](n); ok {
			reason = why.Cause
		} else if code, _, ok := strings.Cut(n.Err.Error(), " "); ok {
			reason += code // of an error reply
		}
		reasons = append(reasons, reason)
	}
	return reasons
}

func isSubset(some, all []string) bool {
	return !slices.ContainsFunc(some, func(s string) bool { return !slices.Contains(all, s) })
}
