package integration

import (
	"context"
	"testing"
	"time"

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
	await(t, settleBound, "a first attempt fails", met)
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

func TestLockWaitsForTheHolderToUnlock(t *testing.T) {
	p := startProcesses(t, five)
	holder := mustTry(t, p.open(), "lock", redlock.WithTTL(longTTL))
	got := waiting(t, p)
	mustUnlock(t, holder)
	released := time.Now()
	l := given(t, got)
	// The pause between two attempts is 250 ms at the most.
	if took := time.Since(released); took > 250*time.Millisecond+time.Second {
		t.Errorf("acquired %v after the release", took)
	}
	mustUnlock(t, l)
	p.wantFree("lock")
}

// A holder that died: its keys end by their TTL, and not before.
func TestLockWaitsForTheKeysOfADeadHolderToExpire(t *testing.T) {
	const ttl = 600 * time.Millisecond
	p := startProcesses(t, five)
	began := time.Now()
	for i := range five {
		p.do(i, "SET", "lock", strangersToken, "PX", ttl.Milliseconds())
	}
	l := given(t, waiting(t, p))
	if took := time.Since(began); took < ttl-rounding || took > ttl+250*time.Millisecond+time.Second {
		t.Errorf("acquired %v after the stranger, whose TTL is %v", took, ttl)
	}
	mustUnlock(t, l)
	p.wantFree("lock")
}

// An outage that ends within WithOutageWait is waited out.
func TestLockWaitsForAnOutageToEnd(t *testing.T) {
	p := startProcesses(t, five)
	p.trusting = true
	p.kill(0, 1, 2)
	met := make(chan redlock.RetryInfo, 1000)
	c := p.openCold(reconnectSoon(), redlock.WithTTL(longTTL), redlock.WithOutageWait(settleBound),
		redlock.WithTrace(&redlock.Trace{Retry: func(info redlock.RetryInfo) { met <- info }}))
	got := make(chan *redlock.Lock, 1)
	go func() {
		defer close(got)
		l, err := c.Lock(context.Background(), "lock")
		if err != nil {
			t.Errorf("Lock: %v", err)
			return
		}
		got <- l
	}()
	await(t, settleBound, "a first attempt fails", met)
	p.restart(2)
	mustUnlock(t, given(t, got))
	p.wantFree("lock")
}
