package integration

import (
	"context"
	"testing"
	"time"

	"github.com/redquorum/redquorum/internal/rig"
	"github.com/redquorum/redquorum/redlock"
	"github.com/redquorum/redquorum/test/integration/internal/container"
)

const (
	// outageTTL is short enough for the tests to wait for it, and long enough for a
	// Docker engine to take its time.
	outageTTL = 4 * time.Second
	// defaultTimeout is how long one master is waited for with the default TTL of 10 s.
	defaultTimeout = 250 * time.Millisecond
)

// lockExtendUnlock does so again and again, and asks how long each took.
func lockExtendUnlock(t *testing.T, c *redlock.Client) {
	t.Helper()
	ctx := context.Background()
	var l *redlock.Lock
	var err error
	var took [3]latencies
	for range 50 {
		for i, do := range []func(){
			func() { l, err = c.TryLock(ctx, "lock") },
			func() { err = l.Extend(ctx) },
			func() { err = l.Unlock(ctx) },
		} {
			took[i] = append(took[i], timed(do))
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for i, what := range []string{"lock", "extend", "unlock"} {
		took[i].wantQuorumLatency(t, what, defaultTimeout)
	}
}

func TestAMasterThatIsFrozenFromTheStartDoesNotSlowDownLocking(t *testing.T) {
	p := startProcesses(t, five)
	p.trusting = true
	p.freeze(0, 4)
	c := openURLs(t, p.urls)
	eventually(t, "the others are connected", func() bool { return connected(c) == 3 })
	lockExtendUnlock(t, c)
	p.thaw(0, 4)
	awaitConnected(t, c, 0, 4)
	p.wantFree("lock")
}

// Two masters of five go away: nothing is felt, from the first operation on. The third is
// an outage, and one that comes back ends it. In containers masters have addresses of
// their own, as in a real network: one that is gone refuses nothing.
func TestMastersThatGoAwayMidLock(t *testing.T) {
	ofProcesses := func(take, back func(p *processes, which ...int)) func(t *testing.T) (*masters, func(...int), func(...int)) {
		return func(t *testing.T) (*masters, func(...int), func(...int)) {
			p := startProcesses(t, five)
			return &p.masters, func(which ...int) { take(p, which...) }, func(which ...int) { back(p, which...) }
		}
	}
	type change = func(c *container.Cluster, which ...int) error
	inContainers := func(take, back change) func(t *testing.T) (*masters, func(...int), func(...int)) {
		return func(t *testing.T) (*masters, func(...int), func(...int)) {
			c := startContainers(t, five)
			return &c.masters, func(which ...int) { c.now(true, which, take) }, func(which ...int) { c.now(false, which, back) }
		}
	}
	for name, start := range map[string]func(t *testing.T) (m *masters, take, back func(which ...int)){
		"killed":              ofProcesses((*processes).kill, (*processes).restart),
		"frozen":              ofProcesses((*processes).freeze, (*processes).thaw),
		"containers, killed":  inContainers((*container.Cluster).Kill, func(c *container.Cluster, which ...int) error { return c.Restart(true, which...) }),
		"containers, paused":  inContainers((*container.Cluster).Freeze, (*container.Cluster).Thaw),
		"containers, cut off": inContainers((*container.Cluster).Cut, (*container.Cluster).Heal),
	} {
		t.Run(name, func(t *testing.T) {
			m, take, back := start(t)
			m.trusting = true
			renewed, trace := traceRenewals()
			c := m.openBrisk(trace, reconnectSoon())
			ctx := context.Background()
			held := mustTry(t, c, "held", redlock.WithTTL(longTTL), redlock.WithRenewal(redlock.Renewal{Every: 200 * time.Millisecond}))
			eventually(t, "all have the key", func() bool { return m.holders("held", held.Token()) == five })

			take(0, 1)
			var err error
			if first := timed(func() { err = held.Extend(ctx) }); err != nil || first > defaultTimeout/2 {
				t.Errorf("the first extension with three masters left took %v (%v)", first, err)
			}
			lockExtendUnlock(t, c)
			awaitStalled(t, c, 0, 1)
			lockExtendUnlock(t, c)
			renewed.awaitMore(t, "held", 2)
			if err := held.Context().Err(); err != nil {
				t.Fatalf("lost with three masters left: %v", context.Cause(held.Context()))
			}
			mustUnlock(t, held)
			back(0, 1)
			// They may have kept the key, and are told as soon as they can be reached.
			m.wantFree("held")
			m.wantFree("lock")
			awaitConnected(t, c, 0, 1)
			// A connection of before may live on for the master. It is killed, so that nothing
			// on it is executed.
			for i := range 2 {
				if ids := m.clientIDs(i); len(ids) != 1 {
					t.Errorf("master %d has %d connections of the client, want 1", i, len(ids))
				}
			}

			held = mustTry(t, c, "held", redlock.WithTTL(outageTTL))
			take(0, 1, 2)
			wantOutage(t, m, c, held, 0, 1, 2)
			wantExactly(t, "Extend", held.Extend(ctx), redlock.ErrLost, redlock.ErrNotHeld)
			awaitStalled(t, c, 0, 1, 2)
			took := timed(func() { _, err = c.TryLock(ctx, "lock") })
			wantExactly(t, "TryLock beyond the stall limit", err, redlock.ErrNoQuorum)
			if took > lateness {
				t.Errorf("TryLock beyond the stall limit took %v, want an answer at once", took)
			}
			back(1)
			wantRecovery(t, m, c)
			back(0, 2)
			awaitConnected(t, c, 0, 1, 2)
			lockExtendUnlock(t, c)
			m.wantFree("lock")
		})
	}
}

// Whatever the number of masters: just more than half of them are needed.
func TestJustMoreThanHalfOfTheMastersAreNeeded(t *testing.T) {
	for n, spare := range map[int]int{1: 0, 2: 0, 3: 1, 4: 1, 6: 2, 7: 3} {
		p := startProcesses(t, n)
		p.trusting = true
		c := p.open(reconnectSoon())
		for i := range spare {
			p.kill(i)
			awaitRefused(t, c, i)
		}
		l := mustTry(t, c, "lock")
		if err := l.Extend(context.Background()); err != nil {
			t.Errorf("%d masters, %d down: Extend: %v", n, spare, err)
		}
		mustUnlock(t, l)
		p.kill(spare)
		awaitRefused(t, c, spare)
		_, err := c.TryLock(context.Background(), "lock")
		wantExactly(t, "TryLock with half of the masters", err, redlock.ErrNoQuorum)
		p.wantFree("lock")
		closeClient(t, c) // the next client must find no goroutines of this one
	}
}

// wantOutage checks three things. Nothing can be locked, and the call says so within
// the masters' timeout, with a cause for each. The context of what is held ends by its
// validity.
func wantOutage(t *testing.T, m *masters, c *redlock.Client, held *redlock.Lock, away ...int) {
	t.Helper()
	began := time.Now()
	var err error
	eventually(t, "an outage is told", func() bool {
		var l *redlock.Lock
		took := timed(func() { l, err = c.TryLock(context.Background(), "lock") })
		if took > defaultTimeout+time.Second {
			t.Errorf("TryLock took %v, want %v and little more", took, defaultTimeout)
		}
		if err == nil { // what was under way when the masters went
			mustUnlock(t, l)
		}
		return err != nil
	})
	wantExactly(t, "TryLock", err, redlock.ErrNoQuorum)
	named := causes(t, err)
	for _, i := range away {
		if named[m.address(i)] == nil {
			t.Errorf("master %d is away and not named: %v", i, err)
		}
	}
	rig.Await(t, outageTTL+settleBound, "the context of the holder ends", held.Context().Done())
	ended := time.Now()
	if late := ended.Sub(held.ValidUntil()); late > lateness {
		t.Errorf("the context ended %v after the validity", late)
	}
	if held := ended.Sub(began); held > outageTTL+lateness {
		t.Errorf("the context ended %v after the outage began, want at most the TTL of %v", held, outageTTL)
	}
	wantLost(t, held, redlock.ReasonUnreachable)
}

// wantRecovery asks that locks can be had again, and that what was left on
// masters that were away is gone within a TTL.
func wantRecovery(t *testing.T, m *masters, c *redlock.Client) {
	t.Helper()
	eventually(t, "a lock can be had again", func() bool {
		l, err := c.TryLock(context.Background(), "lock")
		if err != nil {
			wantExactly(t, "TryLock", err, redlock.ErrNoQuorum)
			return false
		}
		mustUnlock(t, l)
		return true
	})
	rig.Within(t, outageTTL+settleBound, "nothing is left", func() bool { return m.free("held") && m.free("lock") })
}
