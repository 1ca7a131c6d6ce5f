package main

import (
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/doctor"
	"github.com/redquorum/redquorum/cmd/internal/rig"
	"github.com/redquorum/redquorum/internal/acl"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/redlock"
)

// examined runs doctor and gives its report.
func examined(t *testing.T, env []string, args ...string) (*doctor.Report, int) {
	t.Helper()
	r, code := document[doctor.Report](t, env, append([]string{"doctor", "--json", "--for", "200ms"}, args...)...)
	return &r, code
}

// codes are those of the findings, without what a busy machine causes.
func codes(r *doctor.Report) (list []string) {
	for _, f := range r.Findings {
		if f.Code != "slow" {
			list = append(list, f.Code)
		}
	}
	return list
}

func TestDoctorFindsNothingWrongWithGoodMasters(t *testing.T) {
	t.Parallel()
	c, urls := processes(t, 3, redistest.Config{AppendOnly: redistest.AppendAlways})
	r, code := examined(t, nil, "--masters", urls)
	if code != 0 || !slices.Equal(codes(r), []string{"no-fleet"}) || r.Quorum != 2 || len(r.Masters) != 3 {
		t.Fatalf("exit code %d, %+v", code, r)
	}
	for i, m := range r.Masters {
		if m.Address != c.Masters[i].Addr() || !m.Up || m.Version == "" || m.Role != "master" || m.Persistence != "aof always" || m.Eviction != "noeviction" ||
			len(m.RunID) != 40 || m.RoundTrips.Count < 2 || m.RoundTrips.P50 <= 0 || m.RoundTrips.Max < m.RoundTrips.P50 ||
			m.Clock.OffsetLowUS > 0 || m.Clock.OffsetHighUS < 0 || m.Clock.RateLow == nil {
			t.Errorf("%+v, %+v, %+v", m, m.RoundTrips, m.Clock)
		}
	}
	if !r.CanLock || !r.New || r.Votes != 0 {
		t.Errorf("%+v, want a new fleet", r.Verdict)
	}
	for _, m := range c.Masters { // it notes that they have no marker, and nothing else
		if keys, err := redis.Strings(m.Do("KEYS", "*")); err != nil || !slices.Equal(keys, []string{guard.Sighting}) {
			t.Errorf("%s: %q, %v", m.Addr(), keys, err)
		}
	}
}

// Doctor, exec and their exit codes say the same, before, during and after an outage.
func TestDoctorAndExecAgreeAboutAnOutage(t *testing.T) {
	t.Parallel()
	c, urls := processes(t, 5, redistest.Config{AppendOnly: redistest.AppendAlways})
	try := func(want int) string {
		t.Helper()
		patience := "0s"
		if want == 0 { // on a busy machine masters may need a while to answer, which is less than a quarantine
			patience = "3s"
		}
		_, stderr, code := output(t, nil, "exec", "--masters", urls, "--max-ttl", "5s", "--ttl", "1s", "--try", "--wait-quorum", patience, "k", "--", binary, "--version")
		if code != want {
			t.Errorf("exec ends with %d, want %d: %s", code, want, stderr)
		}
		return stderr
	}
	verdict := func(want string, code int) string {
		t.Helper()
		stdout, stderr, got := output(t, nil, "doctor", "--for", "100ms", "--masters", urls, "--max-ttl", "5s")
		first, _, _ := strings.Cut(stdout, "\n\n")
		first = strings.Join(strings.Fields(first), " ")
		if !regexp.MustCompile(want).MatchString(first) || got != code || stderr != "" || code == doctor.ExitSerious && strings.Contains(stdout, "locks go on") {
			t.Errorf("exit code %d, %q, want %d, %s\n%s", got, stderr, code, want, stdout)
		}
		return first
	}
	verdict(`^Can lock: YES\. The fleet is new: the first client declares it, then 5 of 5 masters vote, 3 needed\.$`, 0)
	try(0)
	verdict(`^Can lock: YES\. 5 of 5 masters vote, 3 needed\.$`, 0)
	restart(t, true, c.Masters[:3]...) // the markers are there, and nobody has seen yet that the processes are others
	verdict(`^Can lock: NO\. 2 of 5 masters vote, 3 needed; waiting alone does not help\. → Run a client, `, doctor.ExitSerious)
	if stderr := try(app.ExitNoQuorum); !strings.Contains(stderr, "no quorum") {
		t.Errorf("%q", stderr)
	}
	verdict(`^Can lock: NO\. 2 of 5 masters vote, 3 needed; 3 votes at \d\d:\d\d:\d\d \(in \d s\)$`, doctor.ExitSerious)
	restart(t, false, c.Masters[:3]...) // doctor itself notes that
	verdict(`^Can lock: NO\. 2 of 5 masters vote, 3 needed; 3 votes at \d\d:\d\d:\d\d \(in [56] s\)$`, doctor.ExitSerious)
	try(app.ExitNoQuorum)
	rig.Eventually(t, "a quorum votes", func() bool {
		r, code := examined(t, nil, "--masters", urls)
		return r.CanLock && code != doctor.ExitSerious
	})
	try(0)
}

func TestDoctorNamesMembersOfACluster(t *testing.T) {
	t.Parallel()
	cfg, err := redistest.Member()
	if err != nil {
		t.Fatal(err)
	}
	member, _ := processes(t, 1, cfg)
	r, code := examined(t, nil, "--masters", member.URLs()[0])
	if found := codes(r); code != doctor.ExitSerious || r.CanLock || !slices.Equal(found, []string{"not-standalone", "one-master"}) {
		t.Errorf("exit code %d, %+v", code, r.Findings)
	}
}

func TestDoctorFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	good, _ := processes(t, 1, redistest.Config{AppendOnly: redistest.AppendAlways})
	bad, _ := processes(t, 2, redistest.Config{MaxMemoryPolicy: "allkeys-lru"})
	dead, _ := processes(t, 1, redistest.Config{})
	kill(t, dead.Masters[0])
	at := good.Masters[0].Addr()
	_, port, _ := strings.Cut(at, ":")
	if _, err := bad.Masters[1].Do("REPLICAOF", "127.0.0.1", port); err != nil {
		t.Fatal(err)
	}
	urls := []string{"redis://" + at, "redis://localhost:" + port, bad.Masters[0].URL(), bad.Masters[1].URL(), dead.Masters[0].URL()}
	r, code := examined(t, []string{"REDLOCK_MASTERS=" + strings.Join(urls, ",")})
	found := codes(r)
	for _, want := range []string{"duplicate", "may-evict", "not-master", "unreachable", "forgets"} {
		if !slices.Contains(found, want) {
			t.Errorf("%s was not found in %q", want, found)
		}
	}
	if code != doctor.ExitSerious || r.Masters[4].Up || !strings.Contains(r.Masters[4].Error, "refused") {
		t.Errorf("exit code %d, %+v", code, r.Masters[4])
	}
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
	client := rig.Opened(t, c, redlock.WithOutageWait(0), redlock.WithGuard(redlock.GuardOff))
	if _, err := client.TryLock(t.Context(), "jobs:1"); !errors.Is(err, redlock.ErrNoQuorum) {
		t.Errorf("locked without permission: %v", err)
	}
	// The library's own keys are asked for once the commands on them are permitted.
	for range 3 {
		r, _ := examined(t, nil, "--masters", urls, "--key", "jobs:1")
		for _, f := range r.Findings {
			grant(t, c, f.Do)
		}
	}
	r, code := examined(t, nil, "--masters", urls, "--key", "jobs:1")
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

func TestDoctorLooksAtCertificates(t *testing.T) {
	t.Parallel()
	authority, err := redistest.NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	_, urls := processes(t, 3, redistest.Config{AppendOnly: redistest.AppendAlways, TLS: authority})
	ca := rig.File(t, string(authority.PEM()))
	r, _ := examined(t, nil, "--masters", urls, "--tls-ca", ca)
	if e := r.Masters[0].Expires; e == nil || !e.After(time.Now()) {
		t.Errorf("%+v", r.Masters[0])
	}
	r, code := examined(t, nil, "--masters", urls)
	if !slices.Contains(codes(r), "unreachable") || code != doctor.ExitSerious || !strings.Contains(r.Masters[0].Error, "certificate") {
		t.Errorf("without the authority: exit code %d, %+v", code, r)
	}
}

func TestDoctorSeesAClockThatIsOff(t *testing.T) {
	t.Parallel()
	c, urls := processes(t, 3, redistest.Config{AppendOnly: redistest.AppendAlways, MovableClock: true})
	if err := c.Masters[1].SetClock(-time.Hour); err != nil {
		t.Fatal(err)
	}
	r, code := examined(t, nil, "--masters", urls)
	i := slices.IndexFunc(r.Findings, func(f doctor.Finding) bool { return f.Code == "clock-off" })
	if code != app.ExitFailed || i < 0 || !slices.Equal(r.Findings[i].Masters, []string{c.Masters[1].Addr()}) || !strings.Contains(r.Findings[i].What, "-1h0m") {
		t.Errorf("exit code %d, %+v", code, r.Findings)
	}
}

func TestDoctorIsEndedByASignal(t *testing.T) {
	t.Parallel()
	c := rig.Cluster(t, 3)
	r := startCommand(t, command(t, nil, "doctor", "--for", "1m", "--masters", rig.List(c)))
	rig.Eventually(t, "it asks", func() bool { return c.Masters()[0].Commands()["PING"] >= 3 })
	r.signal(t, os.Interrupt)
	if code := r.end(t); code != 130 || r.stdout.String() != "" || r.stderr.String() != "redlock-demo: ended by SIGINT\n" {
		t.Errorf("exit code %d, %q, %q", code, r.stdout.String(), r.stderr.String())
	}
	if keys := c.Masters()[0].Keys(); !slices.Equal(keys, []string{guard.Sighting}) {
		t.Errorf("keys %q", keys)
	}
}

// A user of the documentation lacks nothing, whatever the locks are called.
func TestDoctorLacksNothingAsTheUserOfTheDocumentation(t *testing.T) {
	t.Parallel()
	c, urls := processes(t, 3, redistest.Config{AppendOnly: redistest.AppendAlways})
	setuser := []any{"SETUSER", "locker", "on", ">pw"}
	for _, rule := range acl.Rules("locks:*") {
		setuser = append(setuser, rule)
	}
	do(t, c.Masters, "ACL", setuser...)
	access := []string{"--masters", urls, "--user", "locker", "--password-file", rig.File(t, "pw\n")}
	r, code := examined(t, nil, access...)
	if code != 0 || !r.CanLock || slices.Contains(codes(r), "permission") {
		t.Errorf("exit code %d, %+v", code, r)
	}
	do(t, c.Masters, "ACL", "SETUSER", "locker", "-zadd", "~locks:*")
	r, _ = examined(t, nil, access...)
	for _, f := range r.Findings {
		if f.Code == "permission" && (f.Do != "ACL SETUSER locker +zadd" || !r.CanLock) {
			t.Errorf("%+v", f)
		}
	}
	if !slices.Contains(codes(r), "permission") {
		t.Error("nothing is missing without +zadd")
	}
}
