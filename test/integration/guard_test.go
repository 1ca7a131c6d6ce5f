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
