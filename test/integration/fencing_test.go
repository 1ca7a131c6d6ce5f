package integration

import (
	"context"
	"errors"
	"flag"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/redlock"
)

var holders = flag.Int("holders", 1000, "how many holders follow one another in the test of fencing tokens")

// An offClock is this machine's with a wall clock that is off.
type offClock struct{ off time.Duration }

func (c offClock) Now() drift.Instant {
	now := time.Now()
	return drift.AtWithoutBoot(now.Sub(clockOrigin), now.Add(c.off))
}

var clockOrigin = time.Now()

const fencePrefix = "redquorum:fence:1:"

// dropFences deletes what outlives fenced locks, when the clients that are opened
// later are closed.
func (p *processes) dropFences() {
	p.t.Cleanup(func() {
		p.each(func(i int) {
			names, err := redis.Values(p.do(i, "KEYS", "redquorum:*:1:*"), nil)
			if err != nil {
				p.t.Error(err)
			}
			for _, name := range names {
				if s, ok := name.([]byte); ok && (strings.HasPrefix(string(s), fencePrefix) || strings.HasPrefix(string(s), "redquorum:lease:1:")) {
					p.do(i, "DEL", s)
				}
			}
		})
	})
}

// A key of another type at a fence's name costs that master's vote, and no more.
func TestAFenceOfAnotherTypeGrantsNothing(t *testing.T) {
	p := startProcesses(t, five)
	p.dropFences()
	c := p.open(redlock.WithFencing())
	first := mustTry(t, c, "lock")
	mustUnlock(t, first)
	for i := range 2 {
		p.do(i, "DEL", fencePrefix+"lock")
		p.do(i, "HSET", fencePrefix+"lock", "field", "value")
	}
	second := mustTry(t, c, "lock")
	if second.Fence() <= first.Fence() {
		t.Errorf("token %d after %d", second.Fence(), first.Fence())
	}
	mustUnlock(t, second)
	p.do(2, "SET", fencePrefix+"lock", "not a number")
	_, err := c.TryLock(context.Background(), "lock")
	if !errors.Is(err, redlock.ErrNoQuorum) || !strings.Contains(err.Error(), "FENCE what is at "+fencePrefix+"lock") {
		t.Errorf("with three fences that are none: %v", err)
	}
	p.each(func(i int) {
		eventually(t, "no lock is left", func() bool { return p.value(i, "lock") == "" })
	})
	if kind, _ := redis.String(p.do(0, "TYPE", fencePrefix+"lock"), nil); kind != "hash" {
		t.Errorf("the other key is a %s now", kind)
	}
}

// Masters are killed at random, two at a time at the most, and come back empty;
// clients' clocks are 200 ms apart. Nothing keeps a master from voting that has
// forgotten everything: tokens rise because a quorum shares a master with the one
// before that remembers, or else by the clocks.
func TestFencingTokensRiseWhileMastersAreKilled(t *testing.T) {
	p := startProcesses(t, five)
	p.dropFences()
	var clients []*redlock.Client
	for _, off := range []time.Duration{-100 * time.Millisecond, 0, 100 * time.Millisecond} {
		clients = append(clients, p.open(redlock.WithGuard(redlock.GuardOff), redlock.WithFencing(), redlock.WithClock(offClock{off}), reconnectSoon()))
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	down := map[int]bool{}
	last := uint64(0)
	for n := range *holders {
		switch i := random.IntN(five); {
		case random.IntN(10) > 0:
		case down[i]:
			if err := p.servers[i].Restart(context.Background(), false); err != nil {
				t.Fatal(err)
			}
			delete(down, i)
			for _, c := range clients {
				awaitConnected(t, c, i)
			}
		case len(down) < 2:
			p.kill(i)
			down[i] = true
		}
		l, err := clients[random.IntN(len(clients))].Lock(context.Background(), "lock")
		if err != nil {
			t.Fatalf("holder %d, %d masters down: %v", n, len(down), err)
		}
		if l.Fence() <= last {
			t.Fatalf("holder %d: token %d after %d", n, l.Fence(), last)
		}
		last = l.Fence()
		_ = l.Unlock(context.Background()) // which too few masters may confirm
	}
	raises := uint64(0)
	for _, c := range clients {
		raises += c.Stats().FencingRaises
	}
	t.Logf("%d holders, %d second rounds", *holders, raises)
}
