//go:build unix

package main

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/locks"
	"github.com/redquorum/redquorum/cmd/internal/rig"
	"github.com/redquorum/redquorum/redlock"
)

// listed is a document of locks --json.
func listed(t *testing.T, want int, args ...string) locks.LocksDocument {
	t.Helper()
	d, code := document[locks.LocksDocument](t, nil, append([]string{"locks", "--json"}, args...)...)
	if code != want {
		t.Fatalf("exit code %d, want %d: %+v", code, want, d)
	}
	return d
}

func TestLocksListsEverySortOfLockAndNothingElse(t *testing.T) {
	t.Parallel()
	c := servers(t, 5)
	client := rig.Opened(t, c)
	mustLock(t, client, "fenced", redlock.WithOwner("billing"), redlock.WithFencing(), redlock.WithTTL(time.Minute))
	read, err := client.RWMutex("read").RLock(t.Context(), redlock.WithOwner("report"), redlock.WithTTL(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	do(t, c.Masters, "SET", "foreign", "of-some-other-client", "PX", "60000")
	do(t, c.Masters[:2], "SET", "half", "billing"+rig.TokenOf, "PX", "60000")
	// No locks, or the library's own.
	do(t, c.Masters, "SET", "setting", "1")
	do(t, c.Masters, "HSET", "hash", "f", "v")
	do(t, c.Masters, "ZADD", "board", "1", "a")
	do(t, c.Masters, "PEXPIRE", "board", "60000")
	do(t, c.Masters[:1], "ZADD", "redquorum:q:1:{fenced}", "1", "somebody")
	kill(t, c.Masters[4])
	d := listed(t, 0, "--masters", addresses(c))
	got := map[string]string{}
	for _, l := range d.Locks {
		got[l.Key] = fmt.Sprintf("%s %s by %q on %d, %d waiting, fence %t", l.Kind, l.Verdict, l.Holders[0].Owner, l.Holders[0].Masters, *l.Waiting, l.Fence != 0)
	}
	want := map[string]string{
		"fenced":  `lock held by "billing" on 4, 1 waiting, fence true`,
		"read":    `readers held by "report" on 4, 0 waiting, fence false`,
		"foreign": `foreign held by "" on 4, 0 waiting, fence false`,
		"half":    `lock unknown by "billing" on 2, 0 waiting, fence false`, // the fifth may have it
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if d.Held != 2 || d.Unheld != 1 || d.Foreign != 1 || !d.Complete || len(d.Masters) != 5 || d.Masters[4].Error == "" || d.Masters[0].Error != "" {
		t.Errorf("%+v", d)
	}
	stdout, _, code := output(t, nil, "locks", "--masters", addresses(c), "f*")
	if code != 0 || strings.Contains(stdout, "half") || !strings.Contains(stdout, "✗ "+c.Masters[4].Addr()) || !strings.Contains(stdout, "\nSearched 4 of 5 masters in ") {
		t.Errorf("exit code %d, %q", code, stdout)
	}
	if strings.Contains(stdout, "0123456789") || strings.Contains(stdout, read.Token()) {
		t.Errorf("a token is shown in full: %q", stdout)
	}
}

func TestAKeyOnFewerThanAQuorumIsNotShownAsHeld(t *testing.T) {
	t.Parallel()
	c := servers(t, 5)
	do(t, c.Masters[:2], "SET", "half", "billing"+rig.TokenOf, "PX", "60000")
	do(t, c.Masters[2:4], "SET", "two", "billing"+rig.TokenOf, "PX", "60000")
	do(t, c.Masters[:2], "SET", "two", "shop"+strings.ReplaceAll(rig.TokenOf, "a", "b"), "PX", "60000")
	stdout, stderr, code := output(t, nil, "locks", "--masters", addresses(c))
	if code != 0 || stderr != "" || !strings.HasSuffix(strings.Split(stdout, "Searched")[0], "0 locks are held. 2 keys without a quorum, which nobody holds, or which changed hands just now.\n") || strings.Count(stdout, "2 of 5, no quorum") != 2 || !strings.Contains(stdout, " and 1 more") {
		t.Errorf("exit code %d, %q, %q", code, stdout, stderr)
	}
}

func TestLocksAreSearchedInSmallSteps(t *testing.T) {
	t.Parallel()
	c := servers(t, 5)
	client := rig.Opened(t, c)
	const count = 2000
	var keys []string
	for i := range count {
		keys = append(keys, fmt.Sprintf("k%04d", i))
	}
	for len(keys) > 0 {
		n := min(100, len(keys))
		if _, err := client.LockAll(t.Context(), keys[:n], redlock.WithTTL(time.Minute)); err != nil {
			t.Fatal(err)
		}
		keys = keys[n:]
	}
	// A minority may not have answered yet, and does in a moment.
	rig.Eventually(t, "all masters have all keys", func() bool {
		for _, m := range c.Masters {
			if n, err := redis.Int(m.Do("DBSIZE")); err != nil || n < count {
				return false
			}
		}
		return true
	})
	do(t, c.Masters, "CONFIG", "RESETSTAT")
	d := listed(t, 0, "--masters", addresses(c))
	if len(d.Locks) != count || d.Held != count || !d.Complete {
		t.Errorf("%d locks are listed, %d are held", len(d.Locks), d.Held)
	}
	for i, l := range d.Locks {
		if l.Key != fmt.Sprintf("k%04d", i) || l.Verdict != "held" || l.Holders[0].Masters != 5 {
			t.Fatalf("%+v", l)
		}
	}
	for i, m := range d.Masters {
		stats, err := redis.String(c.Masters[i].Do("INFO", "commandstats"))
		if err != nil || !strings.Contains(stats, fmt.Sprintf("cmdstat_scan:calls=%d,", m.Steps)) || m.Steps < count/locks.StepKeys || m.Keys < count {
			t.Errorf("%+v, %v\n%s", m, err, stats)
		}
	}
	d = listed(t, app.ExitFailed, "--masters", addresses(c), "--for", "100ms") // less than the pauses take
	if d.Complete {
		t.Errorf("%+v", d.Masters)
	}
}

func TestAMasterThatIsFrozenDoesNotKeepLocksFromBeingListed(t *testing.T) {
	t.Parallel()
	c := servers(t, 3)
	client := rig.Opened(t, c)
	mustLock(t, client, "k", redlock.WithTTL(time.Minute))
	if err := c.Masters[1].Freeze(); err != nil {
		t.Fatal(err)
	}
	if d := listed(t, 0, "--masters", addresses(c)); d.Held != 1 || d.Masters[1].Error == "" {
		t.Errorf("%+v", d)
	}
	kill(t, c.Masters[0])
	if d := listed(t, app.ExitNoQuorum, "--masters", addresses(c)); d.Held != 0 || d.Unheld != 1 {
		t.Errorf("%+v", d)
	}
}

func TestWatchedLocksAreSeenToBeRenewed(t *testing.T) {
	t.Parallel()
	c := servers(t, 3)
	client := rig.Opened(t, c)
	mustLock(t, client, "renewed", redlock.WithTTL(time.Second))
	mustLock(t, client, "left", redlock.WithLease(time.Minute))
	r := startCommand(t, command(t, nil, "locks", "--masters", addresses(c), "--watch=100ms", "--json"))
	r.stdout.await(t, `"renewed_ms":`)
	r.signal(t, syscall.SIGTERM)
	if code := r.end(t); code != 143 {
		t.Errorf("exit code %d, %s", code, r.stderr.String())
	}
	for line := range strings.Lines(r.stdout.String()) {
		for _, l := range rig.Parse[locks.LocksDocument](t, line).Locks {
			if l.Key == "left" && l.Holders[0].RenewedMS != 0 {
				t.Errorf("what nobody renews is shown as renewed: %s", line)
			}
		}
	}
}
