package integration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/internal/acl"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

// locker configures masters whose only user has these rules.
func locker(rules string) redistest.Config {
	return redistest.Config{
		ACL:      []string{"user default off", "user locker on >" + rightPassword + " " + rules},
		Username: "locker", Password: rightPassword,
	}
}

// permitted returns the rules of these uses alone.
func permitted(names ...string) string {
	var rules []string
	for _, u := range acl.Uses() {
		if !slices.Contains(names, u.Name) {
			continue
		}
		for _, k := range u.Keys {
			rules = append(rules, "~"+k)
		}
		for _, c := range u.Channels {
			rules = append(rules, "&"+c)
		}
		for _, c := range u.Commands {
			rules = append(rules, "+"+c)
		}
	}
	return strings.Join(rules, " ")
}

// refused returns what a master has refused to its user for lack of permission.
func (m *masters) refused(i int) []any {
	m.t.Helper()
	log, err := redis.Values(m.command(i, "ACL", "LOG"))
	if err != nil {
		m.t.Fatalf("master %d: %v", i, err)
	}
	return log
}

func (m *masters) wantNothingRefused() {
	m.t.Helper()
	m.each(func(i int) {
		if log := m.refused(i); len(log) != 0 {
			m.t.Errorf("master %d refused something to the user: %q", i, log)
		}
	})
}

// countedAs returns the name under which masters count a command. Before Redis 7.0 they do not
// tell its subcommands apart.
func countedAs(name string) string {
	if redistest.Missing(redistest.SubcommandStats) != nil {
		name, _, _ = strings.Cut(name, "|")
	}
	return name
}

// permittedCommands returns the commands that a user of every kind of lock may run, each under the
// name by which masters count it.
func permittedCommands() []string {
	var names []string
	for _, rule := range acl.Rules("lock*") {
		if name, ok := strings.CutPrefix(rule, "+"); ok {
			names = append(names, countedAs(name))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// countCommands counts every command of the test itself, to tell them from those of the clients.
func (p *processes) countCommands() (tested map[string]int) {
	p.t.Helper()
	tested = make(map[string]int)
	var mu sync.Mutex
	command := p.command
	p.command = func(i int, cmd string, args ...any) (any, error) {
		name := strings.ToLower(cmd)
		if name == "client" || name == "script" {
			name = countedAs(name + "|" + strings.ToLower(fmt.Sprint(args[0])))
		}
		mu.Lock()
		tested[name]++
		mu.Unlock()
		return command(i, cmd, args...)
	}
	p.each(func(i int) { p.do(i, "CONFIG", "RESETSTAT") })
	return tested
}

// Every kind of lock is used at both levels, with and without tokens. No command is refused, and
// no permission is left unused.
func TestEveryKindOfLockNeedsExactlyThesePermissions(t *testing.T) {
	t.Parallel()
	redistest.Need(t, redistest.ACL)
	used := make(map[string]int)
	for _, level := range []redlock.GuardLevel{redlock.GuardStandard, redlock.GuardStrict} {
		t.Run(string(level), func(t *testing.T) {
			p := startConfigured(t, locker(strings.Join(acl.Rules("lock*"), " ")), five)
			p.dropFences()
			tested := p.countCommands()
			fleet := []redlock.Option{redlock.WithGuard(level), redlock.WithMaxTTL(2 * time.Second), redlock.WithTTL(2 * time.Second), reconnectSoon()}
			open := func(opts ...redlock.Option) *redlock.Client {
				return p.open(append(fleet[:len(fleet):len(fleet)], opts...)...)
			}
			plain, other := open(), open()
			everySort(t, p, plain, other)
			fenced, fencedOther := open(redlock.WithFencing()), open(redlock.WithFencing())
			everySort(t, p, fenced, fencedOther)
			raised(t, p, fenced)

			// Connections are replaced, masters have forgotten the scripts, a marker has an
			// expiry, and the fleet is declared anew.
			p.each(func(i int) {
				p.do(i, "EXPIRE", guard.Key, 3600)
				p.do(i, "SCRIPT", "FLUSH")
				p.do(i, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
			})
			p.awaitAll(plain)
			mustUnlock(t, mustTry(t, plain, "lock"))
			elsewhere := open(redlock.WithPool(pool.WithDatabase(3)))
			mustUnlock(t, mustTry(t, elsewhere, "lock"))
			if err := plain.InitForce(context.Background()); err != nil {
				t.Error(err)
			}

			p.wantNothingRefused()
			p.each(func(i int) {
				for _, name := range permittedCommands() {
					used[name] += p.calls(i, name)
				}
			})
			for name, n := range tested {
				used[name] -= n
			}
		})
	}
	for _, name := range permittedCommands() {
		if used[name] <= 0 && !t.Failed() {
			t.Errorf("%s is permitted, and no client has used it", name)
		}
	}
}

// everySort makes two clients use locks of every kind, alone and against each other.
func everySort(t *testing.T, p *processes, c, other *redlock.Client) {
	t.Helper()
	ctx := context.Background()
	exercise(t, p, c)
	exerciseWaiting(t, p, c)
	keys := []string{"lock:1", "lock:2", "lock:3"}
	rw := func(c *redlock.Client) *redlock.RWMutex { return c.RWMutex("lock") }
	try := func(l *redlock.Lock, err error) *redlock.Lock {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(l.Extend(ctx), l.Verify(ctx)); err != nil {
			t.Error(err)
		}
		if _, err := other.Inspect(ctx, l.Key()); err != nil {
			t.Error(err)
		}
		return l
	}
	for name, wait := range map[string]func(c *redlock.Client) (*redlock.Lock, error){
		"plain": func(c *redlock.Client) (*redlock.Lock, error) { return c.Lock(ctx, "lock") },
		"fair":  func(c *redlock.Client) (*redlock.Lock, error) { return c.Lock(ctx, "lock", redlock.WithFairness()) },
		"all":   func(c *redlock.Client) (*redlock.Lock, error) { return c.LockAll(ctx, keys) },
		"any":   func(c *redlock.Client) (*redlock.Lock, error) { return c.LockAny(ctx, keys) },
		"write": func(c *redlock.Client) (*redlock.Lock, error) { return rw(c).Lock(ctx) },
		"read":  func(c *redlock.Client) (*redlock.Lock, error) { return rw(c).RLock(ctx) },
	} {
		mustUnlock(t, try(wait(c)))
		var wg sync.WaitGroup
		for n := range 6 { // they contend
			wg.Go(func() {
				l, err := wait([]*redlock.Client{c, other}[n%2])
				if err != nil {
					t.Errorf("%s: %v", name, err)
					return
				}
				time.Sleep(5 * time.Millisecond) // the hold
				if err := l.Unlock(ctx); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			})
		}
		wg.Wait()
	}

	// A writer waits for readers and notes its intent; another writer queues up.
	r := try(rw(c).TryRLock(ctx))
	_, err := rw(other).Lock(ctx, redlock.WithTries(2))
	wantExactly(t, "Lock beside a reader", err, redlock.ErrTaken)
	awaitAndUnlock(t, p, other, r)

	// Releases go out together, of locks with and without waiters.
	var held []*redlock.Lock
	for n := range 48 {
		held = append(held, try(c.TryLock(ctx, fmt.Sprintf("lock:%d", n))))
	}
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() {
			l, err := other.Lock(ctx, fmt.Sprintf("lock:%d", n))
			if err == nil {
				err = l.Unlock(ctx)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	for n := range 8 {
		p.awaitPilot(fmt.Sprintf("lock:%d", n))
	}
	for _, l := range held {
		wg.Go(func() {
			if err := l.Unlock(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// raised makes a client raise a token: three masters have fences that differ, and every quorum has
// one of them.
func raised(t *testing.T, p *processes, c *redlock.Client) {
	t.Helper()
	before := c.Stats().FencingRaises
	for i := range 3 {
		p.do(i, "SET", fencePrefix+"lock:raised", time.Now().Add(time.Duration(i+1)*time.Minute).UnixMicro())
	}
	mustUnlock(t, mustTry(t, c, "lock:raised"))
	if c.Stats().FencingRaises == before {
		t.Error("no token was raised")
	}
}

// Without the permission for any of the library's own keys or channels, something is refused.
func TestEveryKeyAndChannelThatIsPermittedIsUsed(t *testing.T) {
	t.Parallel()
	for _, without := range acl.Rules("lock*")[1:] {
		if !strings.ContainsAny(without[:1], "~&") {
			continue
		}
		t.Run(without, func(t *testing.T) {
			t.Parallel()
			left := slices.DeleteFunc(acl.Rules("lock*"), func(rule string) bool { return rule == without })
			p := startConfigured(t, locker(strings.Join(left, " ")), 1)
			p.dropFences()
			level := redlock.GuardStrict
			if without == "~"+guard.Sighting { // strict does not use it
				level = redlock.GuardStandard
			}
			c := p.openCold(redlock.WithGuard(level), redlock.WithMaxTTL(time.Second), redlock.WithTTL(time.Second), redlock.WithFencing())
			eventually(t, "something is refused", func() bool {
				ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
				defer cancel()
				if r, err := c.RWMutex("lock").RLock(ctx); err == nil {
					_, _ = c.RWMutex("lock").Lock(ctx) // waits in vain
					_ = r.Unlock(context.Background())
				}
				if l, err := c.Lock(ctx, "lock"); err == nil {
					_, _ = c.Lock(ctx, "lock")
					_ = l.Unlock(context.Background())
				}
				return len(p.refused(0)) != 0
			})
		})
	}
}

// Locks also work without the permissions that are only for comfort.
func TestLocksWorkWithoutOptionalPermissions(t *testing.T) {
	p := startConfigured(t, locker("~lock* resetchannels -@all +set +get +del +pttl +pexpire +type +getrange +evalsha +eval"), five)
	exercise(t, p, p.open(redlock.WithTTL(longTTL)))
}
