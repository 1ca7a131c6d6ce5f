package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

// A contending child takes the lock again and again until its input ends, and
// makes a report of every turn. What it does while it holds the lock succeeds
// only if nobody else holds it: it makes the file named by the order's Token.
func contenderMain() int {
	var o order
	if err := json.NewDecoder(os.Stdin).Decode(&o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	reports := json.NewEncoder(os.Stdout)
	c, err := redlock.Open(o.URLs, redlock.WithTTL(o.TTL))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = c.Close() }()
	for ctx.Err() == nil {
		var r report
		if err := takeTurn(ctx, c, o); err != nil && ctx.Err() == nil {
			r.Failed = err.Error()
		}
		if reports.Encode(r) != nil || r.Failed != "" {
			return 1
		}
	}
	return 0
}

func takeTurn(ctx context.Context, c *redlock.Client, o order) error {
	l, err := c.Lock(ctx, o.Key)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(o.Token, os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("another one holds the lock: %w", err)
	}
	_ = f.Close()
	time.Sleep(time.Millisecond) // the work
	if l.Remaining() <= 0 {
		return fmt.Errorf("lost: %w", context.Cause(l.Context()))
	}
	if err := os.Remove(o.Token); err != nil {
		return err
	}
	// Not confirmed where a master is lost in that moment: it expires.
	_ = l.Unlock(context.Background())
	return nil
}

// startContender starts a child that contends for the lock.
func startContender(t *testing.T, p *processes, file string) *child {
	t.Helper()
	c := startChild(t, "contender")
	c.give(order{URLs: p.urls, Key: "lock", Token: file, TTL: 2 * time.Second})
	return c
}

// turns waits until each of the children has had n more turns.
func turns(t *testing.T, what string, children []*child, n int) {
	t.Helper()
	deadline := time.NewTimer(3 * settleBound)
	defer deadline.Stop()
	for i, c := range children {
		// What it had while others were waited for counts too, but for what
		// it has reported: the channel keeps one.
		for turn := range n {
			select {
			case r, ok := <-c.reports:
				if !ok || r.Failed != "" {
					t.Fatalf("%s: child %d: %s", what, i, r.Failed)
				}
			case <-deadline.C:
				t.Fatalf("%s: child %d had %d turns of %d", what, i, turn, n)
			}
		}
	}
}
