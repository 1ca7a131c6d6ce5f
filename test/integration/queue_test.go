package integration

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/redlock"

	"github.com/redquorum/redquorum/internal/leftover"
	"github.com/redquorum/redquorum/internal/rig"
)

// contendersOf starts n processes that contend for the lock, and waits until
// each has had a turn.
func contendersOf(t *testing.T, p *processes, n int) []*child {
	t.Helper()
	file := filepath.Join(t.TempDir(), "held")
	var children []*child
	for range n {
		children = append(children, startContender(t, p, file))
	}
	turns(t, "before the fault", children, 3)
	return children
}

// awaitPilot finds the master at which contenders queue up.
func (p *processes) awaitPilot(key string) int {
	p.t.Helper()
	pilot := -1
	rig.Within(p.t, 3*settleBound, "somebody queues up", func() bool {
		p.each(func(i int) {
			if n, err := redis.Int(p.command(i, "EXISTS", "redquorum:q:1:{"+key+"}")); err == nil && n == 1 {
				pilot = i
			}
		})
		return pilot >= 0
	})
	return pilot
}

func TestProcessesGoOnWhenThePilotIsLost(t *testing.T) {
	for _, test := range []struct {
		name     string
		lose     func(p *processes, pilot int)
		giveBack func(p *processes, pilot int)
	}{
		{"killed", func(p *processes, i int) { p.kill(i) }, func(p *processes, i int) { p.restart(i) }},
		{"frozen", func(p *processes, i int) { p.freeze(i) }, func(p *processes, i int) { p.thaw(i) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := startProcesses(t, five)
			p.trusting = true
			children := contendersOf(t, p, 5)
			pilot := p.awaitPilot("lock")
			test.lose(p, pilot)
			turns(t, "without the pilot", children, 6)
			test.giveBack(p, pilot)
			turns(t, "with the pilot again", children, 6)
		})
	}
}

func TestProcessesGoOnWhenAHolderCrashes(t *testing.T) {
	p := startProcesses(t, five)
	p.trusting = true
	children := contendersOf(t, p, 4)
	crashing := startChild(t, "holder")
	order := order{Do: "open", URLs: p.urls, Key: "lock", TTL: time.Second}
	if r := crashing.tell(order); r.Failed != "" {
		t.Fatal(r.Failed)
	}
	order.Do = "lock"
	rig.Within(t, 3*settleBound, "the one that crashes has the lock", func() bool { return crashing.tell(order).Failed == "" })
	crashing.kill()
	turns(t, "after the crash", children, 10)
}

// Whoever stops waiting leaves nothing behind, neither here nor on the masters.
func TestTenThousandKeysThatWereWaitedForLeaveNothing(t *testing.T) {
	const keys, batch = 10_000, 500
	p := startProcesses(t, five)
	p.trusting = true
	waits := make(chan struct{}, keys)
	var waited sync.Map // one may have waited twice before another has begun
	c := p.open(redlock.WithTTL(longTTL), redlock.WithTrace(&redlock.Trace{
		Retry: func(i redlock.RetryInfo) {
			if _, again := waited.LoadOrStore(i.Key, true); !again {
				waits <- struct{}{}
			}
		},
	}))
	for i := range five {
		p.do(i, "EVAL", "for n = 0, ARGV[1] - 1 do redis.call('SET', 'idle-' .. n, 'x', 'PX', 600000) end", 0, keys)
	}
	before := len(leftover.Goroutines(leftover.Library...))
	for first := 0; first < keys; first += batch {
		ctx, cancel := context.WithCancel(context.Background())
		var wg sync.WaitGroup
		for n := range batch {
			wg.Go(func() {
				_, err := c.Lock(ctx, fmt.Sprintf("idle-%d", first+n))
				wantExactly(t, "Lock that is cancelled", err, redlock.ErrTaken, context.Canceled)
			})
		}
		for range batch {
			rig.Await(t, settleBound, "all wait", waits)
		}
		cancel()
		wg.Wait()
	}
	wantNothingOfTheQueue(t, p)
	eventually(t, "no goroutine is left", func() bool { return len(leftover.Goroutines(leftover.Library...)) <= before })
	for i := range five {
		p.do(i, "FLUSHALL")
	}
}

// What the queue needs may be forbidden: then who waits polls, and releases
// reach every master all the same.
func TestWithoutPermissionForTheQueueWaitersPoll(t *testing.T) {
	redistest.Need(t, redistest.ACL)
	p := startProcesses(t, five)
	for i := range five {
		p.do(i, "ACL", "SETUSER", "default", "resetkeys", "~lock*", "~redquorum:marker", "~redquorum:sighted", "resetchannels")
	}
	holder := mustTry(t, p.open(), "lock", redlock.WithTTL(longTTL))
	got := waiting(t, p)
	mustUnlock(t, holder)
	mustUnlock(t, given(t, got))
	for i := range five {
		p.do(i, "ACL", "SETUSER", "default", "allkeys", "allchannels")
		log, err := redis.Values(p.command(i, "ACL", "LOG"))
		if err != nil {
			t.Fatal(err)
		}
		if text := strings.ToLower(fmt.Sprintf("%q", log)); strings.Contains(text, "\"lock\"") {
			t.Errorf("master %d refused the lock itself: %s", i, text)
		}
	}
	p.wantFree("lock")
}
