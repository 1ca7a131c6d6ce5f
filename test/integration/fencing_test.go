package integration

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/redlock"
)

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

// holders is how many follow one another in the test of fencing tokens; all of what
// is promised where REDQUORUM_FAULTS_LONG asks for it.
func holders() int {
	if os.Getenv("REDQUORUM_FAULTS_LONG") == "1" {
		return 10_000
	}
	return 1000
}

// Masters are killed at random and come back empty; clients' clocks are 200 ms
// apart, which the quarantine is told. At the most two masters are down or may not
// vote yet, so that there is a quorum all the time.
func TestFencingTokensRiseWhileMastersAreKilled(t *testing.T) {
	const skew = 200 * time.Millisecond
	p := startProcesses(t, five)
	p.dropFences()
	var clients []*redlock.Client
	for _, off := range []time.Duration{-skew / 2, 0, skew / 2} {
		clients = append(clients, p.open(redlock.WithMaxTTL(skew), redlock.WithTTL(skew), redlock.WithClientSkew(skew),
			redlock.WithFencing(), redlock.WithClock(offClock{off}), reconnectSoon()))
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	o := &outages{p: p, t: t, clients: clients, random: rand.New(rand.NewPCG(seed, 0))}
	last := uint64(0)
	for n := range holders() {
		if o.random.IntN(25) == 0 {
			o.next()
		}
		l, err := clients[o.random.IntN(len(clients))].Lock(context.Background(), "lock")
		if err != nil {
			t.Fatalf("holder %d, %d masters out: %v", n, o.out(), err)
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
	t.Logf("%d holders, %d masters killed, %d restarted, %d second rounds", holders(), o.kills, o.restarts, raises)
	if o.restarts < holders()/100 {
		t.Errorf("%d restarts: too few for %d holders", o.restarts, holders())
	}
}

// outages is masters that are killed and restarted, empty, at random.
type outages struct {
	p               *processes
	t               *testing.T
	clients         []*redlock.Client
	random          *rand.Rand
	down, returning [five]bool // the latter may not vote yet, to some client
	kills, restarts int
}

// next kills a master or restarts one that is down. It waits for one that may
// not vote yet where two are out already.
func (o *outages) next() {
	o.t.Helper()
	i := o.random.IntN(five)
	switch {
	case o.returning[i]:
		o.awaitVote(i)
	case o.down[i]:
		o.restart(i)
		return
	}
	for j := range five {
		if o.out() < 2 {
			break
		}
		if o.down[j] {
			o.restart(j)
		}
		if o.returning[j] {
			o.awaitVote(j)
		}
	}
	o.p.kill(i)
	o.down[i] = true
	o.kills++
	for _, c := range o.clients { // who may still take it for one that votes
		awaitStanding(o.t, c, redlock.AbstainNotConnected, i)
	}
}

func (o *outages) restart(i int) {
	o.t.Helper()
	if err := o.p.servers[i].Restart(context.Background(), false); err != nil {
		o.t.Fatal(err)
	}
	o.down[i], o.returning[i] = false, true
	o.restarts++
}

func (o *outages) awaitVote(i int) {
	o.t.Helper()
	for _, c := range o.clients {
		awaitStanding(o.t, c, votes, i)
	}
	o.returning[i] = false
}

// out is how many masters are down or, as far as was looked, may not vote.
func (o *outages) out() (n int) {
	for i := range five {
		if o.down[i] || o.returning[i] {
			n++
		}
	}
	return n
}
