package integration

import (
	"context"
	"fmt"
	"math/bits"
	"slices"
	"testing"
	"time"

	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

// A masterSet is a set of the five masters, a bit each.
type masterSet uint8

const (
	five    = 5
	quorum  = 3
	allFive = masterSet(1<<five - 1)
)

func (s masterSet) has(i int) bool { return s&(1<<i) != 0 }
func (s masterSet) size() int      { return bits.OnesCount8(uint8(s)) }

func (s masterSet) list() []int {
	var list []int
	for i := range five {
		if s.has(i) {
			list = append(list, i)
		}
	}
	return list
}

// gray calls f with all 32 sets, such that one master changes from each to the
// next.
func gray(f func(s masterSet)) {
	for n := range masterSet(1 << five) {
		f(n ^ n>>1)
	}
}

// reconnectSoon keeps clients from resting between attempts to find a master
// that the tests start again.
func reconnectSoon() redlock.Option {
	return redlock.WithPool(pool.WithBackoff(time.Millisecond, 20*time.Millisecond))
}

const strangersToken = "stranger"

// Every master is free, down, or has somebody else's key: 3^5 cases, among them all sets
// of masters that are down, also for a client that is new, and all sets that hold a
// foreign key. What each error says of the masters is asked on simulated ones.
func TestALockIsGrantedExactlyWhenAQuorumIsFree(t *testing.T) {
	p := startProcesses(t, five)
	p.trusting = true
	c := p.open(reconnectSoon())
	cases := 0
	gray(func(down masterSet) {
		for i := range five {
			isDown := p.servers[i].PID() == 0
			switch {
			case down.has(i) && !isDown:
				p.kill(i)
			case !down.has(i) && isDown:
				p.restart(i)
			}
		}
		// One whose connections are not up yet must not take the absence of some masters
		// for that of all.
		fresh := p.openCold()
		p.tryOnce(fresh, down, 0)
		closeClient(t, fresh)
		awaitRefused(t, c, down.list()...)
		awaitConnected(t, c, (allFive &^ down).list()...)
		gray(func(foreign masterSet) {
			if foreign&down != 0 {
				return
			}
			cases++
			p.foreign("lock", strangersToken, foreign.list()...)
			p.tryOnce(c, down, foreign)
			p.remove("lock")
		})
	})
	if cases != 243 {
		t.Errorf("%d cases were tried, want 3^5 = 243", cases)
	}
}

// tryOnce makes one attempt and checks all that it leads to.
func (p *processes) tryOnce(c *redlock.Client, down, foreign masterSet) {
	p.t.Helper()
	what := fmt.Sprintf("down%v,foreign%v", down.list(), foreign.list())
	free := allFive &^ (down | foreign)
	l, err := c.TryLock(context.Background(), "lock")
	switch {
	case free.size() >= quorum:
		if err != nil {
			p.t.Fatalf("%s: %v", what, err)
		}
		if n := p.holders("lock", l.Token()); n < quorum {
			p.t.Errorf("%s: the token stands on %d masters, want %d at least", what, n, quorum)
		}
		mustUnlock(p.t, l)
	case down.size() > five-quorum:
		wantExactly(p.t, what, err, redlock.ErrNoQuorum)
	default:
		wantExactly(p.t, what, err, redlock.ErrTaken)
	}
	if err != nil {
		if q := quorumError(p.t, err); q.OK > free.size() || q.OK+len(causes(p.t, err)) != five {
			p.t.Errorf("%s: %d of 5 masters agreed: %v", what, q.OK, err)
		}
	}
	eventually(p.t, what+": nothing of ours is left", func() bool {
		return !slices.ContainsFunc(free.list(), func(i int) bool { return p.value(i, "lock") != "" })
	})
	for _, i := range foreign.list() {
		if v, ms := p.value(i, "lock"), p.pttl(i, "lock"); v != strangersToken || ms < 30_000 || ms > 60_000 {
			p.t.Errorf("%s: master %d: the foreign key is %q and has %d ms left", what, i, v, ms)
		}
	}
}
