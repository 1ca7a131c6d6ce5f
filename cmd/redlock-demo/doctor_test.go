package main

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/doctor"
	"github.com/redquorum/redquorum/cmd/internal/testutil"
	"github.com/redquorum/redquorum/internal/acl"
	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/redlock"
)

// A report is what doctor --json prints, as far as it matters here.
type report struct {
	CanLock  bool `json:"can_lock"`
	Findings []struct {
		Code, What, Do string
		Masters        []string
	}
}

// examined runs doctor and returns its report.
func examined(t *testing.T, args ...string) (report, int) {
	t.Helper()
	return document[report](t, nil, append([]string{"doctor", "--json", "--for", "200ms"}, args...)...)
}

// codes returns the codes of the findings.
func codes(r report) (list []string) {
	for _, f := range r.Findings {
		list = append(list, f.Code)
	}
	return list
}

func TestDoctorNamesTheACLLineThatMends(t *testing.T) {
	t.Parallel()
	c, urls := processes(t, 3, redistest.Config{
		AppendOnly: redistest.AppendAlways, Username: "locks", Password: "secret",
		ACL: []string{"user locks on >secret ~jobs:* +ping +client|id +client|setname +get +eval +evalsha +script|load +acl|whoami +hmget"},
	})
	stdout, stderr, code := output(t, nil, "doctor", "--for", "100ms", "--masters", urls, "--key", "jobs:1")
	if code != doctor.ExitSerious || stderr != "" || strings.Contains(stdout, "secret") || !strings.Contains(stdout, "✗ serious  "+c.Masters[0].Addr()+", ") {
		t.Fatalf("exit code %d, %q\n%s", code, stderr, stdout)
	}
	client := testutil.Opened(t, c, redlock.WithOutageWait(0), redlock.WithGuard(redlock.GuardOff))
	if _, err := client.TryLock(t.Context(), "jobs:1"); !errors.Is(err, redlock.ErrNoQuorum) {
		t.Errorf("locked without permission: %v", err)
	}
	// doctor finds missing keys only after the commands on them are permitted.
	for range 3 {
		r, _ := examined(t, "--masters", urls, "--key", "jobs:1")
		for _, f := range r.Findings {
			grant(t, c, f.Do)
		}
	}
	r, code := examined(t, "--masters", urls, "--key", "jobs:1")
	if found := codes(r); code != 0 || slices.Contains(found, "permission") || slices.Contains(found, "info-denied") {
		t.Errorf("exit code %d, %+v", code, r.Findings)
	}
	if err := mustLock(t, client, "jobs:1").Unlock(t.Context()); err != nil {
		t.Error(err)
	}
}

// grant does what a finding says, if that is an ACL line for the user locks.
func grant(t *testing.T, c *redistest.Cluster, line string) {
	t.Helper()
	_, rules, ok := strings.Cut(line, "ACL SETUSER locks ")
	if !ok {
		return
	}
	args := []any{"SETUSER", "locks"}
	for _, rule := range strings.Fields(rules) {
		if strings.ContainsAny(rule[:1], "+~&") {
			args = append(args, strings.Trim(rule, ",;."))
		}
	}
	for _, m := range c.Masters {
		if _, err := m.Do("ACL", args...); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
}

func TestDoctorSeesAClockThatIsOff(t *testing.T) {
	t.Parallel()
	c, urls := processes(t, 3, redistest.Config{AppendOnly: redistest.AppendAlways, MovableClock: true})
	if err := c.Masters[1].SetClock(-time.Hour); err != nil {
		t.Fatal(err)
	}
	r, code := examined(t, "--masters", urls)
	i := slices.Index(codes(r), "clock-off")
	if code != app.ExitFailed || i < 0 || !slices.Equal(r.Findings[i].Masters, []string{c.Masters[1].Addr()}) || !strings.Contains(r.Findings[i].What, "-1h0m") {
		t.Errorf("exit code %d, %+v", code, r.Findings)
	}
}

// The documented ACL user has every permission, whatever the names of the locks are.
func TestDoctorLacksNothingAsTheUserOfTheDocumentation(t *testing.T) {
	t.Parallel()
	c, urls := processes(t, 3, redistest.Config{AppendOnly: redistest.AppendAlways})
	setuser := []any{"SETUSER", "locker", "on", ">pw"}
	for _, rule := range acl.Rules("locks:*") {
		setuser = append(setuser, rule)
	}
	do(t, c.Masters, "ACL", setuser...)
	access := []string{"--masters", urls, "--user", "locker", "--password-file", testutil.File(t, "pw\n")}
	r, code := examined(t, access...)
	if code != 0 || !r.CanLock || slices.Contains(codes(r), "permission") {
		t.Errorf("exit code %d, %+v", code, r)
	}
	if stdout, stderr, code := output(t, nil, append([]string{"status", "locks:a"}, access...)...); code != 0 || stderr != "" || strings.Contains(stdout, "NOPERM") {
		t.Errorf("status as that user: exit code %d, %q\n%s", code, stderr, stdout)
	}
}
