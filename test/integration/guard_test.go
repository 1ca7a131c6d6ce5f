package integration

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
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
	within(t, settleBound, "all masters vote", func() bool {
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

func wantNoQuorum(t *testing.T, c *redlock.Client) {
	t.Helper()
	l, err := c.TryLock(context.Background(), "other")
	if err == nil {
		_ = l.Unlock(context.Background())
	}
	wantExactly(t, "TryLock", err, redlock.ErrNoQuorum)
}

func TestARestartedMasterAbstainsWhetherOrNotItForgot(t *testing.T) {
	for name, cfg := range map[string]redistest.Config{
		"empty":         {},
		"AOF everysec":  {AppendOnly: redistest.AppendEverySec},
		"AOF always":    {AppendOnly: redistest.AppendAlways},
		"AOF and dirty": {AppendOnly: redistest.AppendAlways, Args: []string{"--save", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			p := startConfigured(t, cfg, five)
			c := p.guarded()
			ready(t, c)
			l := mustTry(t, c, "lock")
			p.kill(0, 1, 2)
			began := time.Now()
			p.restart(0, 1, 2)
			awaitStanding(t, c, redlock.AbstainQuarantined, 0, 1, 2)
			wantNoQuorum(t, c)
			err := l.Extend(context.Background())
			if err == nil {
				t.Error("extended by masters that abstain")
			}
			quorate(t, c)
			if took := time.Since(began); took < quarantine() {
				t.Errorf("a quorum votes after %v, want %v at least", took, quarantine())
			}
			mustUnlock(t, mustTry(t, c, "next"))
		})
	}
}

// All N losing everything at once looks like a new fleet: standard says so in the
// log, and with data on disk it is told apart.
func TestAllFiveRestarted(t *testing.T) {
	for keep, want := range map[redistest.AppendOnly]redlock.AbstainCause{
		redistest.AppendAlways: redlock.AbstainQuarantined, redistest.AppendOff: votes,
	} {
		t.Run(fmt.Sprintf("append-only file %q", keep), func(t *testing.T) {
			p := startConfigured(t, redistest.Config{AppendOnly: keep}, five)
			c := p.guarded()
			ready(t, c)
			all := []int{0, 1, 2, 3, 4}
			p.kill(all...)
			awaitRefused(t, c, all...)
			p.restart(all...)
			awaitConnected(t, c, all...)
			awaitStanding(t, c, want, all...)
		})
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

func TestAnotherProcessOnTheAddressAbstains(t *testing.T) {
	p := startProcesses(t, five)
	c := p.guarded()
	ready(t, c)
	_, port, err := net.SplitHostPort(p.servers[4].Addr())
	if err != nil {
		t.Fatal(err)
	}
	p.kill(4)
	awaitRefused(t, c, 4)
	var number int
	if _, err := fmt.Sscan(port, &number); err != nil {
		t.Fatal(err)
	}
	// With the marker of another master, as a promoted replica would have.
	other := redistest.Start(t, 1, redistest.Config{Port: number}).Masters[0]
	if _, err := other.Do("HSET", guard.Key, "v", guard.Version, "run", "another", "since", "0",
		"maxttl", briefMaxTTL.Milliseconds(), "n", five, "level", "standard"); err != nil {
		t.Fatal(err)
	}
	awaitStanding(t, c, redlock.AbstainQuarantined, 4)
	awaitStanding(t, c, votes, 4)
}

func TestAReplicaIsRefusedAndAbstainsWhenPromoted(t *testing.T) {
	for _, readOnly := range []string{"yes", "no"} {
		t.Run("replica-read-only "+readOnly, func(t *testing.T) {
			p := startConfigured(t, redistest.Config{Args: []string{"--replica-read-only", readOnly, "--repl-diskless-sync-delay", "0"}}, five)
			source := redistest.Start(t, 1, redistest.Config{Args: []string{"--repl-diskless-sync-delay", "0"}}).Masters[0]
			c := p.guarded()
			ready(t, c)
			host, port, _ := strings.Cut(source.Addr(), ":")
			p.do(4, "REPLICAOF", host, port)
			// Whatever asks for votes finds it out.
			eventually(t, "it is refused as a replica", func() bool {
				if l, err := c.TryLock(context.Background(), "lock"); err == nil {
					_ = l.Unlock(context.Background())
				}
				return standing(c, 4) == redlock.AbstainNotMaster
			})
			why := c.Masters(context.Background())[4].Why
			if !strings.Contains(why.Error(), "role is slave") {
				t.Errorf("it says %q", why)
			}
			awaitLink(t, p.servers[4].Do)
			p.do(4, "REPLICAOF", "NO", "ONE")
			awaitStanding(t, c, redlock.AbstainQuarantined, 4)
			awaitStanding(t, c, votes, 4)
		})
	}
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

func TestTheSameServerAtTwoAddressesVotesOnce(t *testing.T) {
	p := startProcesses(t, 2)
	listed := p.masters
	listed.urls = append(slices.Clone(p.urls), strings.Replace(p.urls[0], "127.0.0.1", "localhost", 1))
	c := listed.guarded()
	quorate(t, c)
	twins := 0
	for _, m := range c.Masters(context.Background()) {
		if !m.Votes && m.Why.Cause == redlock.AbstainDuplicate {
			twins++
		}
	}
	if twins != 1 {
		t.Errorf("%d addresses abstain as duplicates, want one", twins)
	}
	mustUnlock(t, mustTry(t, c, "lock"))
	p.freeze(1)
	defer p.thaw(1)
	wantNoQuorum(t, c)
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

func TestMastersClocks(t *testing.T) {
	if err := redistest.ClockAvailable(); err != nil {
		t.Skip("needs a clock that can be moved:", err)
	}
	for _, by := range []time.Duration{time.Minute, -time.Hour} {
		t.Run(by.String(), func(t *testing.T) {
			p := startConfigured(t, redistest.Config{MovableClock: true}, 3)
			seen := make(chan redlock.ClockInfo, 16)
			c := p.guarded(redlock.WithTrace(&redlock.Trace{Clock: func(i redlock.ClockInfo) { seen <- i }}))
			ready(t, c)
			if err := p.servers[1].SetClock(by); err != nil {
				t.Fatal(err)
			}
			var i redlock.ClockInfo
			within(t, 2*settleBound, "the step is told", func() bool {
				select {
				case i = <-seen:
					return true
				default:
					return false
				}
			})
			if i.Master != p.address(1) || !i.Deviation.Step || (i.Deviation.By.Low > 0) != (by > 0) {
				t.Errorf("%+v: %v", i, i.Deviation)
			}
			r := c.Masters(context.Background())[1]
			if r.Clock == nil || r.Clock.Deviation == nil || (r.Clock.Offset.Middle()-by).Abs() > 5*time.Second {
				t.Errorf("reported as %+v", r.Clock)
			}
			if !r.Votes { // standard tells, and no more
				t.Errorf("it abstains: %v", r.Why)
			}
		})
		t.Run(by.String()+" strict", func(t *testing.T) {
			q := startConfigured(t, redistest.Config{MovableClock: true}, 3)
			if err := q.servers[1].SetClock(by); err != nil {
				t.Fatal(err)
			}
			strict := q.guarded(redlock.WithGuard(redlock.GuardStrict))
			awaitStanding(t, strict, redlock.AbstainOffClock, 1)
			if err := q.servers[1].SetClock(0); err != nil {
				t.Fatal(err)
			}
			awaitStanding(t, strict, redlock.AbstainQuarantined, 1)
			awaitStanding(t, strict, votes, 0, 1, 2)
		})
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
