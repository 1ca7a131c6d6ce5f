package integration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

// briefMaxTTL makes the quarantine of a test short: it is an eighth of a second longer.
const briefMaxTTL = 1500 * time.Millisecond

func quarantine() time.Duration {
	return guard.Config{Level: guard.Standard, MaxTTL: briefMaxTTL, Masters: five}.Quarantine()
}

// guarded makes a client of a fleet with a short quarantine. Its calls end at the first attempt
// without a quorum. It waits for a master for as long as the validity allows.
func (m *masters) guarded(opts ...redlock.Option) *redlock.Client {
	m.t.Helper()
	return openURLs(m.t, m.urls, append([]redlock.Option{
		redlock.WithGuard(redlock.GuardStandard), reconnectSoon(), redlock.WithPool(pool.WithCommandTimeout(patience)),
		redlock.WithMaxTTL(briefMaxTTL), redlock.WithTTL(briefMaxTTL), redlock.WithOutageWait(0),
	}, opts...)...)
}

// standing returns why a master may not vote, or "".
func standing(c *redlock.Client, i int) guard.Cause {
	r := c.Masters()[i]
	if r.Votes {
		return votes
	}
	return r.Why.Cause
}

// awaitStanding waits until masters abstain for this cause.
func awaitStanding(t *testing.T, c *redlock.Client, cause guard.Cause, which ...int) {
	t.Helper()
	for _, i := range which {
		eventually(t, fmt.Sprintf("master %d: %q (\"\": it votes)", i, cause), func() bool { return standing(c, i) == cause })
	}
}

const votes = guard.Cause("")

// awaitWhy waits until a master abstains for this cause, and checks the text of the reason.
func awaitWhy(t *testing.T, c *redlock.Client, i int, cause guard.Cause, text string) {
	t.Helper()
	awaitStanding(t, c, cause, i)
	if why := c.Masters()[i].Why; why == nil || !strings.Contains(why.Error(), text) {
		t.Errorf("it says %v, want %q", why, text)
	}
}

// at makes a client with this guard level. The TTL is that of its locks, and its MaxTTL.
func (m *masters) at(level redlock.GuardLevel, ttl time.Duration) *redlock.Client {
	m.t.Helper()
	return m.guarded(redlock.WithGuard(level), redlock.WithMaxTTL(ttl), redlock.WithTTL(ttl))
}

// rivals are two clients of a new fleet, all of whose masters vote.
func (m *masters) rivals(level redlock.GuardLevel, ttl time.Duration) (first, second *redlock.Client) {
	m.t.Helper()
	first = m.at(level, ttl)
	if level == redlock.GuardStrict { // else the first client declares the fleet
		if err := first.Init(context.Background()); err != nil {
			m.t.Fatal(err)
		}
	}
	second = m.at(level, ttl)
	ready(m.t, first)
	ready(m.t, second)
	return first, second
}

// onTwo takes a lock that the first two of three masters have, and the third has not.
func (m *masters) onTwo(c *redlock.Client, lease time.Duration) *redlock.Lock {
	m.t.Helper()
	m.foreign("key", strangersToken, 2)
	l := mustTry(m.t, c, "key", redlock.WithLease(lease))
	m.do(2, "DEL", "key")
	if m.value(0, "key") != l.Token() || m.value(1, "key") != l.Token() {
		m.t.Fatal("the lock is not on both masters")
	}
	return l
}

// notBeside fails if a client gets the lock now while it is held.
func notBeside(t *testing.T, l *redlock.Lock, others ...*redlock.Client) {
	t.Helper()
	for _, c := range others {
		if got, err := c.TryLock(context.Background(), l.Key()); err == nil && l.Remaining() > 0 {
			t.Fatalf("a second holder, with %v left, beside one with %v", got.Remaining(), l.Remaining())
		}
	}
}

// levels are the levels of the guard at which masters have a quarantine.
var levels = []redlock.GuardLevel{redlock.GuardStandard, redlock.GuardStrict}

// ready waits until all masters vote. Client.Ready waits for a quorum only: then a fault of the
// test may meet a fleet that is not declared yet.
func ready(t *testing.T, c *redlock.Client) {
	t.Helper()
	eventually(t, "all masters vote", func() bool {
		return !slices.ContainsFunc(c.Masters(), func(r redlock.MasterReport) bool { return !r.Votes })
	})
}

func TestWithoutPermissionForINFOStandardIsUnguardedAndStrictRefuses(t *testing.T) {
	p := startConfigured(t, redistest.Config{
		ACL:      []string{"user default off", "user locker on >" + rightPassword + " ~* &* +@all -info"},
		Username: "locker", Password: rightPassword,
	}, 3)
	c := p.guarded()
	ready(t, c)
	awaitStanding(t, c, votes, 0, 1, 2)
	for _, m := range c.Masters() {
		if !m.Votes || m.Unguarded == nil || !strings.Contains(m.Unguarded.Error(), "NOPERM") {
			t.Errorf("%s: votes %v, unguarded %v", m.Master, m.Votes, m.Unguarded)
		}
	}
	mustUnlock(t, mustTry(t, c, "lock"))
	strict := p.guarded(redlock.WithGuard(redlock.GuardStrict))
	awaitStanding(t, strict, guard.Unreadable, 0, 1, 2)
	_, err := strict.TryLock(context.Background(), "lock")
	why, ok := errors.AsType[*redlock.AbstainError](err)
	if !ok || !strings.Contains(why.Error(), "+info") {
		t.Errorf("strict: %v", err)
	}
}
