package integration

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/redquorum/redquorum/internal/acl"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/redlock"
)

// wantForbidden fails unless the error says that no quorum may vote, and names the command.
func wantForbidden(t *testing.T, what, command string, err error) {
	t.Helper()
	wantExactly(t, what, err, redlock.ErrNoQuorum)
	why := causes(t, err)
	for master, cause := range why {
		if !strings.Contains(strings.ToLower(cause.Error()), command) {
			t.Errorf("%s without %s: %s is named for %v", what, command, master, cause)
		}
	}
}

// A master whose user may acquire and not renew or release would keep each lock until it expires.
// The client notices that before the first lock.
func TestAMasterThatRefusesACommandOfEveryLockDoesNotVote(t *testing.T) {
	t.Parallel()
	redistest.Need(t, redistest.ACL)
	p := startConfigured(t, locker(strings.Join(acl.Rules("lock*"), " ")), 1)
	ready(t, p.guarded())
	for _, command := range []string{"del", "evalsha", "get", "pexpire", "pttl", "set"} {
		p.do(0, "ACL", "SETUSER", "locker", "-"+command)
		c := p.guarded()
		_, err := c.TryLock(context.Background(), "lock")
		wantForbidden(t, "TryLock", command, err)
		awaitStanding(t, c, guard.Forbidden, 0)
		wantForbidden(t, "Ready", command, c.Ready(context.Background())) // Ready does not wait
		// A lock that was sent before the judgement does not stay either.
		_ = c.Close()
		if holder, err := p.command(0, "GET", "lock"); holder != nil || err != nil {
			t.Errorf("without %s the master has a lock left: %s, %v", command, holder, err)
		}
		p.do(0, "ACL", "SETUSER", "locker", "+"+command)
		ready(t, p.guarded())
	}
}

// A permission that only some kinds of locks need costs the vote on these kinds alone.
func TestAMasterThatRefusesACommandDoesNotVoteOnTheLocksThatNeedIt(t *testing.T) {
	t.Parallel()
	redistest.Need(t, redistest.ACL)
	p := startConfigured(t, locker(strings.Join(acl.Rules("lock*"), " ")), 1)
	p.dropFences()
	ready(t, p.guarded())
	ctx := context.Background()
	for name, test := range map[string]struct {
		use string
		try func(c *redlock.Client) (*redlock.Lock, error)
	}{
		"several keys": {acl.Several, func(c *redlock.Client) (*redlock.Lock, error) {
			return c.TryLockAll(ctx, []string{"lock:1", "lock:2"})
		}},
		"a reader": {acl.Readers, func(c *redlock.Client) (*redlock.Lock, error) { return c.RWMutex("lock").TryRLock(ctx) }},
		"a fence":  {acl.Fencing, func(c *redlock.Client) (*redlock.Lock, error) { return c.TryLock(ctx, "lock", redlock.WithFencing()) }},
	} {
		uses := acl.Uses()
		use := uses[slices.IndexFunc(uses, func(u acl.Use) bool { return u.Name == test.use })]
		for _, command := range use.Commands {
			if strings.Contains(permitted(acl.Locks, acl.Guard)+" ", "+"+command+" ") {
				continue // without them no master votes
			}
			if name == "a fence" && command == "mget" {
				continue // only batches need it; without it each lock goes alone
			}
			p.do(0, "ACL", "SETUSER", "locker", "-"+command)
			c := p.guarded()
			ready(t, c)
			mustUnlock(t, mustTry(t, c, "lock:plain"))
			_, err := test.try(c)
			wantForbidden(t, name, command, err)
			p.do(0, "ACL", "SETUSER", "locker", "+"+command)
			p.do(0, "DEL", "lock", "lock:1", "lock:2") // the missing command could not release these
			l, err := test.try(p.guarded())
			if err != nil {
				t.Fatal(err)
			}
			mustUnlock(t, l)
		}
	}
}

// rename-command takes a command from everybody.
func TestAMasterWithACommandRenamedAwayDoesNotVote(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"DEL", "EVALSHA", "GET", "PEXPIRE", "PTTL", "SET"} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			p := startConfigured(t, redistest.Config{Args: []string{"--rename-command", command, "renamed"}}, 1)
			c := p.guarded()
			awaitStanding(t, c, guard.Forbidden, 0)
			_, err := c.TryLock(context.Background(), "lock")
			wantForbidden(t, "TryLock", strings.ToLower(command), err)
		})
	}
}

// A user that may write keys and not read them could set locks, and not release them.
func TestUserWithoutReadPermissionSetsNoLock(t *testing.T) {
	redistest.Need(t, redistest.WriteOnlyKeys)
	p := startConfigured(t, locker("%W~* &* +@all"), 3)
	for _, level := range []redlock.GuardLevel{redlock.GuardStandard, redlock.GuardStrict} {
		_, err := p.openCold(redlock.WithGuard(level)).Lock(context.Background(), "lock")
		wantExactly(t, "Lock", err, redlock.ErrNoQuorum)
		if !strings.Contains(err.Error(), "it refuses GET: ") {
			t.Error(err)
		}
	}
	// The end of each test checks that nothing is left.
}
