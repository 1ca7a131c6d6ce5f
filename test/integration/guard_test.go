package integration

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

// briefMaxTTL makes the quarantine of a test short: it and an eighth of a second
// more.
const briefMaxTTL = 1500 * time.Millisecond

func quarantine() time.Duration {
	return guard.Config{Level: guard.Standard, MaxTTL: briefMaxTTL, Masters: five}.Quarantine()
}

// guarded makes a client of a fleet with a short quarantine, whose attempts that
// find no quorum are the last. It is patient, as far as the validity allows.
func (m *masters) guarded(opts ...redlock.Option) *redlock.Client {
	m.t.Helper()
	return openURLs(m.t, m.urls, append([]redlock.Option{
		redlock.WithGuard(redlock.GuardStandard), reconnectSoon(), redlock.WithPool(pool.WithCommandTimeout(patience)),
		redlock.WithMaxTTL(briefMaxTTL), redlock.WithTTL(briefMaxTTL), redlock.WithOutageWait(0),
	}, opts...)...)
}

// standing is why a master may not vote; 0: it may.
func standing(c *redlock.Client, i int) redlock.AbstainCause {
	r := c.Masters(context.Background())[i]
	if r.Votes {
		return 0
	}
	return r.Why.Cause
}

// awaitStanding waits until masters abstain for this cause.
func awaitStanding(t *testing.T, c *redlock.Client, cause redlock.AbstainCause, which ...int) {
	t.Helper()
	for _, i := range which {
		eventually(t, fmt.Sprintf("master %d: %v (0: it votes)", i, cause), func() bool { return standing(c, i) == cause })
	}
}

const votes = redlock.AbstainCause(0)

// ready waits until all masters vote. Client.Ready is content with a quorum, and
// what a test does to one master may then meet a fleet that is not declared yet.
func ready(t *testing.T, c *redlock.Client) {
	t.Helper()
	eventually(t, "all masters vote", func() bool {
		for _, m := range c.Masters(context.Background()) {
			if !m.Votes {
				return false
			}
		}
		return true
	})
}

// quorate waits until a quorum votes.
func quorate(t *testing.T, c *redlock.Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), settleBound)
	defer cancel()
	if err := c.Ready(ctx); err != nil {
		t.Fatal(err)
	}
}

func TestAFlushMidHoldIsSeenByTheNextExtension(t *testing.T) {
	p := startProcesses(t, five)
	c := p.guarded()
	ready(t, c)
	l := mustTry(t, c, "lock")
	for i := range 3 {
		p.do(i, "FLUSHALL")
	}
	err := l.Extend(context.Background())
	if err == nil {
		t.Fatal("extended by masters that were emptied")
	}
	awaitStanding(t, c, redlock.AbstainQuarantined, 0, 1, 2)
	awaitStanding(t, c, votes, 3, 4)
}

func TestAMasterThatMayEvictIsRefused(t *testing.T) {
	p := join(t, redistest.Start(t, 2, redistest.Config{MaxMemoryPolicy: "volatile-ttl"}), redistest.Start(t, 3, redistest.Config{}))
	c := p.guarded()
	awaitStanding(t, c, redlock.AbstainMayEvict, 0, 1)
	// Not all are fit, so the fleet is not taken for new.
	awaitStanding(t, c, redlock.AbstainQuarantined, 2, 3, 4)
	quorate(t, c)
	mustUnlock(t, mustTry(t, c, "lock"))
	if why := c.Masters(context.Background())[0].Why.Error(); !strings.Contains(why, "volatile-ttl") || !strings.Contains(why, "noeviction") {
		t.Errorf("it says %q", why)
	}
}

func TestWithoutPermissionForINFOStandardIsUnguardedAndStrictRefuses(t *testing.T) {
	p := startConfigured(t, redistest.Config{
		ACL:      []string{"user default off", "user locker on >" + rightPassword + " ~* &* +@all -info"},
		Username: "locker", Password: rightPassword,
	}, 3)
	c := p.guarded()
	ready(t, c)
	awaitStanding(t, c, votes, 0, 1, 2)
	for _, m := range c.Masters(context.Background()) {
		if !m.Votes || m.Unguarded == nil || !strings.Contains(m.Unguarded.Error(), "NOPERM") {
			t.Errorf("%s: votes %v, unguarded %v", m.Master, m.Votes, m.Unguarded)
		}
	}
	mustUnlock(t, mustTry(t, c, "lock"))
	strict := p.guarded(redlock.WithGuard(redlock.GuardStrict))
	awaitStanding(t, strict, redlock.AbstainUnreadable, 0, 1, 2)
	_, err := strict.TryLock(context.Background(), "lock")
	why, ok := errors.AsType[*redlock.AbstainError](err)
	if !ok || !strings.Contains(why.Error(), "+info") {
		t.Errorf("strict: %v", err)
	}
}

// In strict a look has a marker written. Init may replace it, also another client's,
// while no vote can rest on it.
func TestInitDeclaresAStrictFleet(t *testing.T) {
	p := startProcesses(t, 3)
	c := p.guarded(redlock.WithGuard(redlock.GuardStrict))
	awaitStanding(t, c, redlock.AbstainQuarantined, 0, 1, 2)
	other := p.guarded(redlock.WithGuard(redlock.GuardStrict))
	awaitStanding(t, other, redlock.AbstainQuarantined, 0, 1, 2)
	if err := other.Init(context.Background()); err != nil {
		t.Fatal(err)
	}
	awaitStanding(t, c, votes, 0, 1, 2)
	awaitStanding(t, other, votes, 0, 1, 2)
	mustUnlock(t, mustTry(t, other, "lock"))
}

func TestInitDeclaresAFleetAndForcedChangesOne(t *testing.T) {
	p := startProcesses(t, 3)
	c := p.guarded()
	ctx := context.Background()
	if err := c.Init(ctx); err != nil {
		t.Fatal(err)
	}
	if err := c.Init(ctx); err != nil {
		t.Errorf("of a fleet that is declared already: %v", err)
	}
	mustUnlock(t, mustTry(t, c, "lock"))
	longer := p.guarded(redlock.WithMaxTTL(2 * briefMaxTTL))
	err := longer.Init(ctx)
	wantExactly(t, "Init with other settings", err, redlock.ErrNoQuorum)
	for i := range p.urls {
		if !strings.Contains(err.Error(), p.address(i)) || !strings.Contains(err.Error(), "MaxTTL 1.5s") {
			t.Errorf("it does not name master %d and its marker: %v", i, err)
		}
	}
	if err := longer.Init(ctx, redlock.ForceInit()); err != nil {
		t.Fatal(err)
	}
	awaitStanding(t, longer, redlock.AbstainQuarantined, 0, 1, 2)
	eventually(t, "the old settings are refused", func() bool {
		_, err := c.TryLock(ctx, "lock")
		why, ok := errors.AsType[*redlock.AbstainError](err)
		return ok && why.Cause == redlock.AbstainOtherFleet
	})
	ready(t, longer)
	p.kill(0)
	err = longer.Init(ctx, redlock.ForceInit())
	wantExactly(t, "Init without one master", err, redlock.ErrNoQuorum)
}
