//go:build unix

package main

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/survey"
	"github.com/redquorum/redquorum/redlock"
)

// listed is a document of locks --json.
func listed(t *testing.T, want int, args ...string) locksDocument {
	t.Helper()
	d, code := document[locksDocument](t, nil, append([]string{"locks", "--json"}, args...)...)
	if code != want {
		t.Fatalf("exit code %d, want %d: %+v", code, want, d)
	}
	return d
}

func TestLocksListsEverySortOfLockAndNothingElse(t *testing.T) {
	t.Parallel()
	c := servers(t, 5)
	client := opened(t, c)
	mustLock(t, client, "fenced", redlock.WithOwner("billing"), redlock.WithFencing(), redlock.WithTTL(time.Minute))
	read, err := client.RWMutex("read").RLock(t.Context(), redlock.WithOwner("report"), redlock.WithTTL(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	do(t, c.Masters, "SET", "foreign", "of-some-other-client", "PX", "60000")
	do(t, c.Masters[:2], "SET", "half", "billing"+tokenOf, "PX", "60000")
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
	do(t, c.Masters[:2], "SET", "half", "billing"+tokenOf, "PX", "60000")
	do(t, c.Masters[2:4], "SET", "two", "billing"+tokenOf, "PX", "60000")
	do(t, c.Masters[:2], "SET", "two", "shop"+strings.ReplaceAll(tokenOf, "a", "b"), "PX", "60000")
	stdout, stderr, code := output(t, nil, "locks", "--masters", addresses(c))
	if code != 0 || stderr != "" || !strings.HasSuffix(strings.Split(stdout, "Searched")[0], "0 locks are held. 2 keys without a quorum, which nobody holds, or which changed hands just now.\n") || strings.Count(stdout, "2 of 5, no quorum") != 2 || !strings.Contains(stdout, " and 1 more") {
		t.Errorf("exit code %d, %q, %q", code, stdout, stderr)
	}
}

func TestLocksAreSearchedInSmallSteps(t *testing.T) {
	t.Parallel()
	c := servers(t, 5)
	client := opened(t, c)
	const locks = 2000
	var keys []string
	for i := range locks {
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
	eventually(t, "all masters have all keys", func() bool {
		for _, m := range c.Masters {
			if n, err := redis.Int(m.Do("DBSIZE")); err != nil || n < locks {
				return false
			}
		}
		return true
	})
	do(t, c.Masters, "CONFIG", "RESETSTAT")
	d := listed(t, 0, "--masters", addresses(c), "--limit", "1500")
	if len(d.Locks) != 1500 || d.NotShown != 500 || d.Held != locks || !d.Complete {
		t.Errorf("%d locks are listed, %d are not, %d are held", len(d.Locks), d.NotShown, d.Held)
	}
	for i, l := range d.Locks {
		if l.Key != fmt.Sprintf("k%04d", i) || l.Verdict != "held" || l.Holders[0].Masters != 5 {
			t.Fatalf("%+v", l)
		}
	}
	for i, m := range d.Masters {
		stats, err := redis.String(c.Masters[i].Do("INFO", "commandstats"))
		if err != nil || !strings.Contains(stats, fmt.Sprintf("cmdstat_scan:calls=%d,", m.Steps)) || m.Steps < locks/survey.StepKeys || m.Keys < locks {
			t.Errorf("%+v, %v\n%s", m, err, stats)
		}
	}
	d = listed(t, exitFailed, "--masters", addresses(c), "--timeout", "100ms") // less than the pauses take
	if d.Complete {
		t.Errorf("%+v", d.Masters)
	}
}

func TestAMasterThatIsFrozenDoesNotKeepLocksFromBeingListed(t *testing.T) {
	t.Parallel()
	c := servers(t, 3)
	client := opened(t, c)
	mustLock(t, client, "k", redlock.WithTTL(time.Minute))
	if err := c.Masters[1].Freeze(); err != nil {
		t.Fatal(err)
	}
	if d := listed(t, 0, "--masters", addresses(c)); d.Held != 1 || d.Masters[1].Error == "" {
		t.Errorf("%+v", d)
	}
	kill(t, c.Masters[0])
	if d := listed(t, exitNoQuorum, "--masters", addresses(c)); d.Held != 0 || d.Unheld != 1 {
		t.Errorf("%+v", d)
	}
}

func TestWatchedLocksAreSeenToBeRenewed(t *testing.T) {
	t.Parallel()
	c := servers(t, 3)
	client := opened(t, c)
	mustLock(t, client, "renewed", redlock.WithTTL(time.Second))
	mustLock(t, client, "left", redlock.WithLease(time.Minute))
	r := startCommand(t, command(t, nil, "locks", "--masters", addresses(c), "--watch=100ms", "--json"))
	r.stdout.await(t, `"renewed_ms":`)
	r.signal(t, syscall.SIGTERM)
	if code := r.end(t); code != 143 {
		t.Errorf("exit code %d, %s", code, r.stderr.String())
	}
	for line := range strings.Lines(r.stdout.String()) {
		for _, l := range parse[locksDocument](t, line).Locks {
			if l.Key == "left" && l.Holders[0].RenewedMS != 0 {
				t.Errorf("what nobody renews is shown as renewed: %s", line)
			}
		}
	}
}

// surveyed is what a look finds, of inspections.
func surveyed() *survey.Survey {
	s := &survey.Survey{Took: 12 * time.Millisecond, Masters: []survey.Search{
		{Master: "10.0.0.1:6379", Steps: 12, Keys: 1100, Slowest: time.Millisecond},
		{Master: "10.0.0.2:6379", Steps: 12, Keys: 1101, Hidden: 3, Slowest: 3 * time.Millisecond},
		{Master: "10.0.0.3:6379", Err: errors.New("dial redis://:secret@h: connection refused\x1b[31m")},
	}}
	long := "invoices:" + strings.Repeat("0123456789", 8)
	at := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	s.Locks = []survey.Lock{
		{Inspection: answer("deploy\x1b[31m", redlock.VerdictHeld, by("ci@build-1/4711", 8*time.Second), by("ci@build-1/4711", 9*time.Second), silent()), Kind: survey.Plain, Waiting: 2, Fence: 1795419834569622},
		{Inspection: answer(long, redlock.VerdictHeld, by("a-very-long-name-of-an-owner@a-very-long-host-name.example/123", 8*time.Second), by("a-very-long-name-of-an-owner@a-very-long-host-name.example/123", 9*time.Second), silent()), Kind: survey.Plain, Waiting: -1},
		{Inspection: answer("left-over", redlock.VerdictPartial, by("billing", 300*time.Millisecond), nothing(), nothing()), Kind: survey.Plain},
		{Inspection: answer("read", redlock.VerdictHeld, read(2, "report", "export"), read(2, "report", "export"), silent()), Kind: survey.Readers, Readers: 2},
		{Inspection: answer("split", redlock.VerdictSplit, by("billing", 8*time.Second), by("shop", 9*time.Second), nothing()), Kind: survey.Plain},
	}
	for i := range s.Locks {
		s.Locks[i].Asked, s.Locks[i].Answered = at, at
	}
	return s
}

func TestLocksAreAsInTheirGoldenFile(t *testing.T) {
	t.Parallel()
	var text, narrow, document bytes.Buffer
	later := func() time.Time { return time.Date(2026, 1, 1, 12, 0, 3, 0, time.UTC) }
	for _, v := range []*locksView{
		{out: &text, limit: 4, now: later},
		{out: &narrow, limit: 10, now: later, watching: true, width: func() int { return 80 }},
		{out: &document, limit: 4, json: true, now: later},
	} {
		if err := v.show(surveyed()); err != nil {
			t.Fatal(err)
		}
	}
	for line := range strings.Lines(narrow.String()) {
		if n := utf8.RuneCountInString(line) - 1; n > 80 {
			t.Errorf("%d columns: %q", n, line)
		}
	}
	all := text.String() + narrow.String() + document.String()
	if strings.ContainsAny(all, "\x1b\a") || strings.Contains(all, "secret") || !strings.Contains(text.String(), surveyed().Locks[1].Key) {
		t.Errorf("%q", all)
	}
	golden(t, "locks", all)
}
