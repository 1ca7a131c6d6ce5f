package integration

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

// whileMastersDie runs f while one master after the other, of those that may, is killed,
// and started again once progress has grown by some without it. It returns how often.
func (p *processes) whileMastersDie(progress *atomic.Int32, some int32, which []int, f func()) (times int) {
	p.t.Helper()
	finished := make(chan struct{})
	go func() { defer close(finished); f() }()
	over := func() bool {
		select {
		case <-finished:
			return true
		default:
			return false
		}
	}
	grown := func(what string) {
		p.t.Helper()
		before := progress.Load()
		eventually(p.t, "there is progress "+what, func() bool { return over() || progress.Load() >= before+some })
	}
	for ; !over(); times++ {
		i := which[times%len(which)]
		p.kill(i)
		grown("without a master")
		p.restart(i)
		grown("with it")
	}
	return times
}

// exclusive is what a holder counts for beside whom nobody may be; a reader counts for 1.
const exclusive = 1000

// inside counts who holds each key.
type inside struct {
	t    *testing.T
	keys map[string]*atomic.Int32
}

func (in *inside) enter(weight int32, keys ...string) {
	for _, key := range keys {
		if n := in.keys[key].Add(weight); n != exclusive && (weight == exclusive || n > exclusive) {
			in.t.Errorf("%s: holders of weight %d are in together", key, n)
		}
	}
}

func (in *inside) leave(weight int32, keys ...string) {
	for _, key := range keys {
		in.keys[key].Add(-weight)
	}
}

// Clients that want single keys, sets, slots, to read and to write, with and without a
// fencing token, all of the same three keys, while masters come and go: nobody is ever in
// beside a holder that must be alone, everybody gets their turns, and nothing but fences
// is left behind.
func TestEverySortOfLockTakesTurnsAndExcludesTheOthersWhileMastersDie(t *testing.T) {
	const clients, turns = 2, 12
	p := startPersistent(t, five)
	p.trusting = true
	p.dropFences()
	keys := []string{"a", "b", "c"}
	in := &inside{t: t, keys: map[string]*atomic.Int32{"a": {}, "b": {}, "c": {}}}
	var taken atomic.Int32
	var shared atomic.Bool // readers were in together
	downgrade := func(l *redlock.Lock) {
		in.leave(exclusive-1, l.Keys()...) // a reader from here on
		if err := l.Downgrade(context.Background()); err != nil && !errors.Is(err, redlock.ErrNoQuorum) {
			t.Errorf("downgrade: %v", err)
		}
	}
	type call = func(ctx context.Context, c *redlock.Client) (*redlock.Lock, error)
	all := func(keys []string, opts ...redlock.LockOption) call {
		return func(ctx context.Context, c *redlock.Client) (*redlock.Lock, error) {
			return c.LockAll(ctx, keys, opts...)
		}
	}
	slot := func(opts ...redlock.LockOption) call {
		return func(ctx context.Context, c *redlock.Client) (*redlock.Lock, error) {
			return c.LockAny(ctx, keys, opts...)
		}
	}
	write := func(ctx context.Context, c *redlock.Client) (*redlock.Lock, error) { return c.RWMutex("a").Lock(ctx) }
	read := func(ctx context.Context, c *redlock.Client) (*redlock.Lock, error) { return c.RWMutex("a").RLock(ctx) }
	sorts := []struct {
		weight  int32
		acquire call
		then    func(l *redlock.Lock)
	}{
		{exclusive, func(ctx context.Context, c *redlock.Client) (*redlock.Lock, error) { return c.Lock(ctx, "b") }, nil},
		{exclusive, all(keys[:2]), nil},
		{exclusive, all(keys[1:], redlock.WithFencing()), nil},
		{exclusive, all([]string{"c", "a"}), nil},
		{exclusive, slot(), nil},
		{exclusive, slot(redlock.WithFencing()), nil},
		{exclusive, write, nil},
		{1, write, downgrade},
		{1, read, nil},
		{1, read, nil},
	}
	// Contenders of several clients split the votes of five masters now and then: they
	// should try again soon, or the test takes its time.
	soon := redlock.WithBackoff(func(attempt int) time.Duration { return time.Duration(attempt%7+1) * 2 * time.Millisecond })
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	var wg sync.WaitGroup
	for range clients {
		c := p.open(reconnectSoon(), soon, redlock.WithTTL(longTTL), redlock.WithOutageWait(time.Minute))
		for i, sort := range sorts {
			wg.Go(func() {
				for range turns {
					l, err := sort.acquire(ctx, c)
					if err != nil {
						t.Errorf("sort %d: %v", i, err)
						return
					}
					if sort.then != nil {
						in.enter(exclusive, l.Keys()...)
						sort.then(l)
					} else {
						in.enter(sort.weight, l.Keys()...)
					}
					time.Sleep(time.Millisecond) // let others try
					if n := in.keys["a"].Load(); n > 1 && n < exclusive {
						shared.Store(true)
					}
					if err := l.Context().Err(); err != nil {
						t.Errorf("sort %d: %v", i, context.Cause(l.Context()))
					}
					in.leave(sort.weight, l.Keys()...)
					taken.Add(1)
					if err := l.Unlock(context.Background()); err != nil && !errors.Is(err, redlock.ErrNoQuorum) {
						t.Errorf("sort %d: %v", i, err)
					}
				}
			})
		}
	}
	p.whileMastersDie(&taken, 1, []int{0, 1, 2, 3, 4}, wg.Wait)
	if got, want := int(taken.Load()), clients*turns*len(sorts); got != want {
		t.Errorf("held %d times, want %d", got, want)
	}
	if !shared.Load() {
		t.Error("readers were never in together")
	}
	for _, key := range keys {
		p.wantFree(key)
	}
	wantNothingOfTheQueue(t, p)
}
