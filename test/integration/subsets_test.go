package integration

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
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

// Every master is free, down, or has somebody else's key: 3^5 cases, among
// them all sets of masters that are down and all sets that hold a foreign key.
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
		awaitRefused(t, c, down.list()...)
		awaitConnected(t, c, (allFive &^ down).list()...)
		gray(func(foreign masterSet) {
			if foreign&down != 0 {
				return
			}
			cases++
			t.Run(fmt.Sprintf("down%v,foreign%v", down.list(), foreign.list()), func(t *testing.T) {
				p := p.under(t)
				p.foreign("lock", strangersToken, foreign.list()...)
				tryOnce(t, p, c, down, foreign)
				p.remove("lock")
			})
		})
	})
	if cases != 243 {
		t.Errorf("%d cases were tried, want 3^5 = 243", cases)
	}
}

// tryOnce makes one attempt and checks all that it leads to.
func tryOnce(t *testing.T, p *processes, c *redlock.Client, down, foreign masterSet) {
	t.Helper()
	free := allFive &^ (down | foreign)
	l, err := c.TryLock(context.Background(), "lock")
	switch {
	case free.size() >= quorum:
		if err != nil {
			t.Fatalf("%d masters are free: %v", free.size(), err)
		}
		if n := p.holders("lock", l.Token()); n < quorum {
			t.Errorf("the token stands on %d masters, want %d at least", n, quorum)
		}
		mustUnlock(t, l)
	case down.size() > five-quorum:
		wantRefusal(t, p, err, redlock.ErrNoQuorum, free, down, foreign)
		if named := causes(t, err); len(named) < down.size() {
			t.Errorf("%d masters are known to be down, %d are named: %v", down.size(), len(named), err)
		}
		// Whichever of the others answers first, or before all are asked.
		for range 20 {
			_, err := c.TryLock(context.Background(), "lock")
			wantExactly(t, "TryLock again", err, redlock.ErrNoQuorum)
		}
	default:
		wantRefusal(t, p, err, redlock.ErrTaken, free, down, foreign)
		wantHolders(t, p, c, foreign)
	}
	if l != nil && err != nil {
		t.Errorf("a lock and an error: %v", err)
	}
	eventually(t, "nothing of ours is left", func() bool {
		for _, i := range free.list() {
			if p.value(i, "lock") != "" {
				return false
			}
		}
		return true
	})
	for _, i := range foreign.list() {
		if v := p.value(i, "lock"); v != strangersToken {
			t.Errorf("master %d: the foreign key is %q now", i, v)
		}
		if ms := p.pttl(i, "lock"); ms < 30_000 || ms > 60_000 {
			t.Errorf("master %d: the foreign key has %d ms left", i, ms)
		}
	}
}

// wantRefusal asks for the kind, and for causes that explain it: as many as
// rule a quorum out, each the right one for its master.
func wantRefusal(t *testing.T, p *processes, err error, kind error, free, down, foreign masterSet) {
	t.Helper()
	wantExactly(t, "TryLock", err, kind)
	q := quorumError(t, err)
	if q.Op != "lock" || q.Key != "lock" || q.Need != quorum || q.Total != five || q.OK > free.size() {
		t.Errorf("op %q, key %q, %d of %d agreed, %d needed: want lock, lock, at most %d of 5, 3",
			q.Op, q.Key, q.OK, q.Total, q.Need, free.size())
	}
	named := causes(t, err)
	if q.OK+len(named) != five {
		t.Errorf("%d of 5 masters agreed and %d are named: %v", q.OK, len(named), err)
	}
	awaited := 0
	for _, cause := range named {
		if !errors.Is(cause, redlock.ErrNotAwaited) {
			awaited++
		}
	}
	if awaited < five-quorum+1 {
		t.Errorf("%d masters are named for what they did, which does not rule out a quorum: %v", awaited, err)
	}
	for i := range five {
		cause := named[p.address(i)]
		_, held := errors.AsType[*redlock.HeldError](cause)
		switch {
		case cause == nil, errors.Is(cause, redlock.ErrNotAwaited):
		case down.has(i) && !errors.Is(cause, pool.ErrDown):
			t.Errorf("master %d is down, named for %v", i, cause)
		case foreign.has(i) && !held:
			t.Errorf("master %d has a foreign key, named for %v", i, cause)
		case free.has(i):
			t.Errorf("master %d is free, named for %v", i, cause)
		}
	}
}

// wantHolders fails unless a refusal tells who holds the key. That question is asked
// second, and is not waited for as long as the attempt itself. On a busy machine it may
// need a few attempts.
func wantHolders(t *testing.T, p *processes, c *redlock.Client, foreign masterSet) {
	t.Helper()
	var told error
	for range 20 {
		_, told = c.TryLock(context.Background(), "lock")
		complete := true
		named := causes(t, told)
		for _, i := range foreign.list() {
			if h, ok := errors.AsType[*redlock.HeldError](named[p.address(i)]); ok {
				complete = complete && h.Token == strangersToken && h.Type == "string" &&
					h.TTL > 0 && h.TTL <= time.Minute && h.Owner == ""
			}
		}
		if complete {
			return
		}
	}
	t.Errorf("token, TTL and type of the foreign key are never told: %v", told)
}

// A client whose connections are not up yet waits for them, and must not take
// the absence of some for that of all.
func TestAFreshClientLocksExactlyWhenAQuorumIsUp(t *testing.T) {
	p := startProcesses(t, five)
	p.trusting = true
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
		t.Run(fmt.Sprintf("down%v", down.list()), func(t *testing.T) {
			p := p.under(t)
			c := p.openCold()
			l, err := c.TryLock(context.Background(), "lock")
			if five-down.size() < quorum {
				wantRefusal(t, p, err, redlock.ErrNoQuorum, allFive&^down, down, 0)
				p.wantFree("lock")
				return
			}
			if err != nil {
				t.Fatalf("%d masters are up: %v", five-down.size(), err)
			}
			mustUnlock(t, l)
			p.wantFree("lock")
		})
	})
}
