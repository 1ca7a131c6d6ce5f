package integration

import (
	"context"
	"testing"

	"github.com/redquorum/redquorum/internal/rig"
	"github.com/redquorum/redquorum/redlock"
)

// waiting calls Lock on a goroutine of its own, and returns once it has met the
// obstacle.
func waiting(t *testing.T, p *processes, opts ...redlock.Option) <-chan *redlock.Lock {
	t.Helper()
	met := make(chan redlock.RetryInfo, 1000)
	c := p.open(append(opts, reconnectSoon(), redlock.WithTTL(longTTL), redlock.WithTrace(&redlock.Trace{
		Retry: func(info redlock.RetryInfo) { met <- info },
	}))...)
	got := make(chan *redlock.Lock, 1)
	go func() {
		defer close(got)
		ctx, cancel := context.WithTimeout(context.Background(), settleBound)
		defer cancel()
		l, err := c.Lock(ctx, "lock")
		if err != nil {
			t.Errorf("Lock: %v", err)
			return
		}
		got <- l
	}()
	rig.Await(t, settleBound, "a first attempt fails", met)
	return got
}

// given waits for the lock that waiting is to get.
func given(t *testing.T, got <-chan *redlock.Lock) *redlock.Lock {
	t.Helper()
	l, ok := <-got
	if !ok {
		t.FailNow()
	}
	return l
}
