package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/sleep"
	"github.com/redquorum/redquorum/redlock"
)

// nothingLeft checks that the lock's key is gone from every master that can be
// reached. A client of one master alone finds out by taking and releasing it;
// it waits for as long as the key may take to expire, which it should not have
// to: releases are sent, also to masters that come back.
func (r *run) nothingLeft(ctx context.Context) error {
	stop := r.Screen.follow(func() string { return "looking for what is left on the masters" })
	defer stop()
	urls := r.cluster.URLs()
	found := make([]string, len(urls))
	var wg sync.WaitGroup
	reached := 0
	for i, m := range r.result.Masters {
		if m.State == stateGone {
			continue
		}
		reached++
		wg.Go(func() {
			if err := r.free(ctx, urls[i]); err != nil {
				found[i] = m.Address + ": " + cause(err)
			}
		})
	}
	wg.Wait()
	stop()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	left := slices.DeleteFunc(found, func(f string) bool { return f == "" })
	detail := fmt.Sprintf("the key is gone from the %s in reach", count(reached, "master"))
	if len(left) > 0 {
		detail = strings.Join(left, "; ")
	}
	r.result.expect("nothing is left behind", len(left) == 0, detail)
	return nil
}

// free takes and releases the lock on one master, or says why it cannot.
func (r *run) free(ctx context.Context, url string) error {
	c, err := redlock.Open([]string{url}, append(r.clientOptions(0), redlock.WithOutageWait(0), redlock.WithGuard(redlock.GuardOff))...)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }() // its only error is that of a pool, which has none
	ready, cancel := context.WithTimeout(ctx, r.ready)
	defer cancel()
	if err := c.Ready(ready); err != nil {
		return firstNode(err)
	}
	ctx, cancel = context.WithTimeout(ctx, r.TTL+time.Second)
	defer cancel()
	var last error
	for {
		l, err := c.TryLock(ctx, r.key)
		if err == nil {
			return l.Unlock(ctx)
		}
		// The attempt that the context cut short knows less than the one before.
		if ctx.Err() == nil || last == nil {
			last = firstNode(err)
		}
		if sleep.For(ctx, 10*time.Millisecond) != nil {
			return last
		}
	}
}

// firstNode is the error of the one master there is.
func firstNode(err error) error {
	if node, ok := errors.AsType[*redlock.NodeError](err); ok {
		return node.Err
	}
	return err
}
