package redlock

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Pauses between two rounds of Lead, from the beginning of one to that of the next.
const (
	leastLeadPause = 100 * time.Millisecond
	mostLeadPause  = 10 * time.Second
)

// Lead runs lead whenever this client holds key, again and again: for work that one of
// several processes does, for as long as it lives. It waits for the lock as Lock does,
// and calls lead with a context that is a child of ctx and ends when the lock can no
// longer be guaranteed. If the lock is lost, Lead waits until lead has returned, and
// then waits for the lock again. So lead never runs twice at a time in one call. It
// has to return soon when its context ends.
//
// Lead returns when lead returns while the lock is held, with the error of lead or nil:
// so a leader steps down. The lock is then released. It also returns when ctx ends, with
// an error that matches that of ctx; with ErrClosed when the client is closed; with
// ErrReentrant; and with the error of a bad argument.
//
// It does not return because masters are down or refuse. It tries again after a pause,
// 100 ms at first and up to 10 s while there is no quorum. Refusals are logged at warn
// when they change, not each time.
func (c *Client) Lead(ctx context.Context, key string, lead func(ctx context.Context) error, opts ...LockOption) error {
	if lead == nil {
		return fmt.Errorf("redlock: lead %q: the function is nil", key)
	}
	refusal, pause := "", leastLeadPause
	for {
		began := time.Now()
		over, err := c.leadOnce(ctx, key, lead, opts)
		if over {
			return err
		}
		now := refusalOf(err)
		if now != "" && now != refusal {
			c.opts.logger.Warn("not leading", "key", key, "error", err)
		}
		if refusal = now; refusal == "" {
			pause = leastLeadPause
		}
		if err := c.rest(ctx, pause-time.Since(began)); err != nil {
			return fmt.Errorf("redlock: lead %q: %w", key, err)
		}
		pause = min(2*pause, mostLeadPause)
	}
}

// leadOnce leads once, if it gets the lock. over: Lead returns err. Otherwise the lock was
// lost, or err says why it was not acquired.
func (c *Client) leadOnce(ctx context.Context, key string, lead func(ctx context.Context) error, opts []LockOption) (over bool, err error) {
	l, err := c.acquire(ctx, key, opts, false)
	if err != nil {
		_, decided := errors.AsType[*QuorumError](err)
		return !decided || ctx.Err() != nil, err
	}
	lost, err := c.run(ctx, l, lead)
	if lost != nil {
		return false, nil
	}
	return true, err
}

// refusalOf is what keeps a client from leading, without what changes from one attempt to
// the next; "": somebody else leads, or nothing does.
func refusalOf(err error) string {
	q, ok := errors.AsType[*QuorumError](err)
	if !ok || errors.Is(err, ErrTaken) {
		return ""
	}
	var b strings.Builder
	for n := range q.NodeErrors() {
		fmt.Fprintf(&b, "%s %T", n.Master, n.Err)
		if why, ok := errors.AsType[*AbstainError](n); ok {
			b.WriteString(why.Cause.String())
		} else if code, _, ok := strings.Cut(n.Err.Error(), " "); ok {
			b.WriteString(code) // of an error reply
		}
	}
	return b.String()
}

// rest pauses. An error says that ctx has ended, or that the client is closed.
func (c *Client) rest(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-c.group.Life.Done():
		return ErrClosed
	}
}
