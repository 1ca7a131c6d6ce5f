package integration

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/redlock"
)

// startSlowToLoad starts masters that need a second or so to read their files when they are
// started again, and answer LOADING meanwhile. Redis serves its clients after every 1,024 commands
// that it has read.
func startSlowToLoad(t *testing.T) *processes {
	t.Helper()
	cfg, ballast, times := redistest.Config{AppendOnly: redistest.AppendAlways}, "", 0
	if redistest.Missing(redistest.LoadDelay) == nil {
		cfg.Args = []string{"--key-load-delay", "150"} // microseconds per command
		ballast, times = `for n = 1, 6000 do redis.call('INCR', KEYS[1]) end redis.call('DEL', KEYS[1])`, 1
	} else { // commands that take as long by themselves
		ballast, times = `for n = 1, 400 do redis.call('RPUSH', KEYS[1], n * 7919 % 400) end
			for n = 1, 1000 do redis.call('SORT', KEYS[1], 'STORE', KEYS[2]) end redis.call('DEL', KEYS[1], KEYS[2])`, 5
	}
	p := startConfigured(t, cfg, five)
	var group sync.WaitGroup
	for i := range five {
		group.Go(func() {
			for range times {
				if _, err := p.command(i, "EVAL", ballast, 2, "ballast", "sorted"); err != nil {
					t.Errorf("master %d: %v", i, err)
					return
				}
			}
		})
	}
	if group.Wait(); t.Failed() {
		t.FailNow()
	}
	return p
}

// restartLoading begins to start masters again, and returns when they answer
// LOADING, with a function that waits until they have loaded.
func (p *processes) restartLoading(which ...int) (loaded func()) {
	p.t.Helper()
	started := make(chan error, len(which))
	for _, i := range which {
		go func() { started <- p.servers[i].Restart(context.Background(), true) }()
	}
	for _, i := range which {
		eventually(p.t, "the master is loading", func() bool {
			_, err := redis.String(p.command(i, "GET", "any"))
			return err != nil && strings.Contains(err.Error(), "LOADING")
		})
	}
	return func() {
		p.t.Helper()
		for range which {
			if err := <-started; err != nil {
				p.t.Fatal(err)
			}
		}
	}
}

// Masters are killed while a lock is held. The client finds them again while they read their
// files, which have the key. LOADING is no vote, and the error names it. The release is repeated
// until they have loaded.
func TestLoadingMastersDoNotVoteAndReleasesAreSentUntilTheyHaveLoaded(t *testing.T) {
	t.Parallel()
	p := startSlowToLoad(t)
	p.trusting = true
	c := p.open(reconnectSoon(), redlock.WithTTL(longTTL))
	ctx := context.Background()
	held := mustTry(t, c, "held")
	eventually(t, "all have the key", func() bool { return p.holders("held", held.Token()) == five })
	p.kill(0, 1, 2)
	awaitRefused(t, c, 0, 1, 2)
	wantExactly(t, "Unlock without a quorum", held.Unlock(ctx), redlock.ErrNoQuorum)
	loaded := p.restartLoading(0, 1, 2)
	eventually(t, "LOADING is named", func() bool {
		l, err := c.TryLock(ctx, "lock")
		if err == nil {
			mustUnlock(t, l)
			t.Fatal("the masters have loaded, and LOADING was never named")
		}
		wantExactly(t, "TryLock", err, redlock.ErrNoQuorum)
		return strings.Contains(err.Error(), "LOADING")
	})
	loaded()
	p.wantFree("held")
	eventually(t, "a lock can be had again", func() bool {
		l, err := c.TryLock(ctx, "lock")
		if err != nil {
			wantExactly(t, "TryLock", err, redlock.ErrNoQuorum)
			return false
		}
		mustUnlock(t, l)
		return true
	})
	p.wantFree("lock")
}
