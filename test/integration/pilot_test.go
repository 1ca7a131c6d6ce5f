package integration

import (
	"context"
	"errors"
	"testing"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/internal/testutil"
	"github.com/redquorum/redquorum/redlock"
)

// pilotOf is the master at which who waits for the key queues up. It leaves
// nobody there.
func (p *processes) pilotOf(key string) int {
	p.t.Helper()
	held := mustTry(p.t, p.open(), key, redlock.WithTTL(longTTL))
	ctx, cancel := context.WithCancel(p.t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := p.open().Lock(ctx, key)
		done <- err
	}()
	pilot := p.awaitPilot(key)
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		p.t.Fatal(err)
	}
	mustUnlock(p.t, held)
	return pilot
}

const queueOfLock = "redquorum:q:1:{lock}"

// inQueue is who waits for the lock at a master, in order.
func (p *processes) inQueue(i int) []string {
	p.t.Helper()
	all, err := redis.Strings(p.command(i, "ZRANGE", queueOfLock, 0, -1))
	if err != nil {
		p.t.Fatal(err)
	}
	return all
}

// A permission that was missing for a moment is found again, by who waits and by
// who releases.
func TestAPilotThatForbadeItsQueueIsThePilotAgainWhenItIsPermitted(t *testing.T) {
	t.Parallel()
	redistest.Need(t, redistest.ACL)
	p := startProcesses(t, five)
	pilot := p.pilotOf("lock")
	p.do(pilot, "ACL", "SETUSER", "default", "resetkeys", "~lock", "~redquorum:marker")
	c := p.open(redlock.WithTTL(longTTL))
	holder := mustTry(t, c, "lock")
	got := waiting(t, p)
	eventually(t, "it queues up elsewhere", func() bool {
		for i := range five {
			if i != pilot && len(p.inQueue(i)) > 0 {
				return true
			}
		}
		return false
	})
	p.do(pilot, "ACL", "SETUSER", "default", "allkeys")
	eventually(t, "it is back in the pilot's queue", func() bool { return len(p.inQueue(pilot)) > 0 })
	mustUnlock(t, holder)
	mustUnlock(t, given(t, got))
}

// waiting calls Lock on a goroutine of its own, and returns once it has met the
// obstacle.
func waiting(t *testing.T, p *processes, opts ...redlock.Option) <-chan *redlock.Lock {
	t.Helper()
	met := make(chan redlock.AttemptInfo, 1000)
	c := p.open(append(opts, reconnectSoon(), redlock.WithTTL(longTTL), redlock.WithTrace(&redlock.Trace{
		Retry: func(info redlock.AttemptInfo) { met <- info },
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
	testutil.Await(t, settleBound, "a first attempt fails", met)
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

// awaitPilot finds the master at which contenders queue up.
func (p *processes) awaitPilot(key string) int {
	p.t.Helper()
	pilot := -1
	testutil.Within(p.t, 3*settleBound, "somebody queues up", func() bool {
		p.each(func(i int) {
			if n, err := redis.Int(p.command(i, "EXISTS", "redquorum:q:1:{"+key+"}")); err == nil && n == 1 {
				pilot = i
			}
		})
		return pilot >= 0
	})
	return pilot
}
