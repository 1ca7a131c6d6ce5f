package integration

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/redigo"
	redigolib "github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/redlock"
)

// openRedsync makes a client of another Redlock library on the same masters.
func (p *processes) openRedsync() *redsync.Redsync {
	p.t.Helper()
	var pools []redsyncredis.Pool
	for _, s := range p.servers {
		rp := &redigolib.Pool{
			MaxIdle: 8,
			DialContext: func(ctx context.Context) (redigolib.Conn, error) {
				return redigolib.DialContext(ctx, "tcp", s.Addr())
			},
		}
		p.t.Cleanup(func() { _ = rp.Close() })
		pools = append(pools, redigo.NewPool(rp))
	}
	return redsync.New(pools...)
}

// One fleet may use both: a lock that one holds is taken for the other.
func TestALockOfRedsyncIsTakenForUsAndTheOtherWayRound(t *testing.T) {
	p := startProcesses(t, five)
	c, other := p.open(), p.openRedsync()
	ctx := context.Background()

	theirs := other.NewMutex("lock", redsync.WithExpiry(longTTL), redsync.WithTries(1))
	if err := theirs.Lock(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the holder is told", func() bool {
		_, err := c.TryLock(ctx, "lock")
		wantExactly(t, "TryLock of what redsync holds", err, redlock.ErrTaken)
		h, ok := errors.AsType[*redlock.HeldError](err)
		return ok && h.Token == theirs.Value() && h.Type == "string" && h.TTL > 0 && h.TTL <= longTTL
	})
	if ok, err := theirs.Unlock(); !ok || err != nil {
		t.Errorf("redsync's Unlock: %v, %v: its key was touched", ok, err)
	}

	ours := mustTry(t, c, "lock", redlock.WithTTL(longTTL))
	err := other.NewMutex("lock", redsync.WithTries(1)).Lock()
	if _, ok := errors.AsType[*redsync.ErrTaken](err); !ok {
		t.Errorf("redsync's Lock of what we hold: %v, want its ErrTaken", err)
	}
	if err := ours.Verify(ctx); err != nil {
		t.Errorf("our hold after redsync's attempt: %v", err)
	}
	mustUnlock(t, ours)
	p.wantFree("lock")

	// The token is what redsync calls a value: a hold changes hands.
	theirs = other.NewMutex("lock", redsync.WithExpiry(longTTL), redsync.WithTries(1))
	if err := theirs.Lock(); err != nil {
		t.Fatal(err)
	}
	ours, err = c.Adopt(ctx, "lock", theirs.Value(), redlock.WithTTL(longTTL))
	if err != nil {
		t.Fatalf("Adopt of redsync's hold: %v", err)
	}
	mustUnlock(t, ours)
	p.wantFree("lock")
}

// Both contend for one key: never both at a time, and both make progress.
func TestWeAndRedsyncContendAndBothProgress(t *testing.T) {
	const workers, each = 3, 8
	p := startProcesses(t, five)
	other := p.openRedsync()
	pause := func(n int) time.Duration { return time.Duration(n%9+3) * time.Millisecond }
	var inside, oursTaken, theirsTaken atomic.Int32
	hold := func(taken *atomic.Int32) {
		if n := inside.Add(1); n != 1 {
			t.Errorf("%d hold the lock", n)
		}
		taken.Add(1)
		for i := range 2 { // for as long as it takes to ask two masters
			if _, err := p.command(i, "PING"); err != nil {
				t.Error(err)
			}
		}
		inside.Add(-1)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var wg sync.WaitGroup
	for range workers {
		c := p.open(redlock.WithTTL(longTTL), redlock.WithBackoff(pause))
		wg.Go(func() {
			for range each {
				err := c.Do(ctx, "lock", func(context.Context) error { hold(&oursTaken); return nil })
				if err != nil {
					t.Error(err)
				}
			}
		})
		wg.Go(func() {
			for range each {
				m := other.NewMutex("lock", redsync.WithExpiry(longTTL), redsync.WithTries(100_000), redsync.WithRetryDelayFunc(pause))
				if err := m.LockContext(ctx); err != nil {
					t.Errorf("redsync: %v", err)
					return
				}
				hold(&theirsTaken)
				if ok, err := m.Unlock(); !ok || err != nil {
					t.Errorf("redsync's Unlock: %v, %v", ok, err)
				}
			}
		})
	}
	wg.Wait()
	if o, th := oursTaken.Load(), theirsTaken.Load(); o != workers*each || th != workers*each {
		t.Errorf("we held it %d times, redsync %d times, want %d each", o, th, workers*each)
	}
	p.wantFree("lock")
}
