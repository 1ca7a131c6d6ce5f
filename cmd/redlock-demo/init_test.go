package main

import (
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/rig"
	"github.com/redquorum/redquorum/cmd/internal/setup"
	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/redistest"
)

// initialized runs init and gives its report.
func initialized(t *testing.T, args ...string) (setup.InitReport, int) {
	t.Helper()
	return document[setup.InitReport](t, nil, append([]string{"init", "--json"}, args...)...)
}

// initialize declares masters a fleet, if no client has done so already.
func initialize(t *testing.T, urls string, args ...string) setup.InitReport {
	t.Helper()
	r, code := initialized(t, append([]string{"--masters", urls}, args...)...)
	if code != 0 {
		t.Fatalf("exit code %d, %+v", code, r)
	}
	return r
}

// markerOf reads a master's marker; nil: it has none.
func markerOf(t *testing.T, m *redistest.Server) *guard.Fields {
	t.Helper()
	f, err := redis.StringMap(m.Do("HGETALL", guard.Key))
	if err != nil {
		t.Fatal(err)
	}
	if len(f) == 0 {
		return nil
	}
	return &guard.Fields{LevelIs: f["level"], Since: f["since"], MaxTTL: f["maxttl"], How: f["how"], Without: f["without"], Fleet: f["fleet"], To: f["to"]}
}

func TestInitDeclaresAFleetThatVotesAtOnce(t *testing.T) {
	t.Parallel()
	c, urls := processes(t, 3, redistest.Config{})
	stdout, stderr, code := output(t, nil, "init", "--masters", urls)
	if code != 0 || stderr != "" || strings.Count(stdout, " none\n") != 3 ||
		!strings.HasSuffix(stdout, "\ndeclared a fleet of 3 masters, standard, longest TTL 1m0s: it votes at once\n\nCan lock: YES. 3 of 3 masters vote, 2 needed.\n") {
		t.Fatalf("exit code %d, %q\n%s", code, stderr, stdout)
	}
	mustLock(t, rig.Opened(t, c), "k")
	r, code := initialized(t, "--masters", urls)
	if code != 0 || r.Outcome != setup.OutcomeAlready || r.Masters[0].Marker != "3 masters, standard, longest TTL 1m0s" {
		t.Errorf("again: exit code %d, %+v", code, r)
	}
}

func TestInitRefusesMastersOfAFleetUnlessItIsForced(t *testing.T) {
	t.Parallel()
	c, urls := processes(t, 3, redistest.Config{})
	if r := initialize(t, urls, "--max-ttl", "2s"); r.Outcome != setup.OutcomeDeclared || r.MaxTTLMS != 2000 || r.Verdict == nil || !r.CanLock || r.Votes != 3 {
		t.Fatalf("%+v", r)
	}
	stdout, stderr, code := output(t, nil, "init", "--masters", urls, "--guard", "strict")
	if code != app.ExitFailed || stderr != "redlock-demo: nothing was written: 3 masters belong to a fleet already (--force changes it)\n" ||
		strings.Count(stdout, "3 masters, standard, longest TTL 2s\n") != 3 || !strings.HasSuffix(stdout, "\nCan lock: YES. 3 of 3 masters vote, 2 needed.\n") {
		t.Errorf("exit code %d, %q\n%s", code, stderr, stdout)
	}
	if m := markerOf(t, c.Masters[0]); m.LevelIs != "standard" || m.Since != "0" {
		t.Errorf("the refusal has written: %+v", m)
	}
	stdout, stderr, code = output(t, nil, "init", "--masters", urls, "--guard", "strict", "--max-ttl", "5s", "--force")
	if code != app.ExitUsage || stdout != "" || stderr != "redlock-demo: --force asks for confirmation: want --yes where there is no terminal\n" {
		t.Errorf("exit code %d, %q\n%s", code, stderr, stdout)
	}
	r, code := initialized(t, "--masters", urls, "--guard", "strict", "--max-ttl", "5s", "--force", "--yes")
	strict := guard.Config{Level: guard.Strict, MaxTTL: 5 * time.Second, Drift: drift.Default}
	if code != 0 || r.Outcome != setup.OutcomeChanged || r.QuarantineMS != strict.Quarantine().Milliseconds() {
		t.Errorf("exit code %d, %+v, want a quarantine of %v", code, r, strict.Quarantine())
	}
	if r.CanLock || r.Votes != 0 || r.InMS <= 0 || r.InMS > r.QuarantineMS {
		t.Errorf("afterwards: %+v", r.Verdict)
	}
	if m := markerOf(t, c.Masters[0]); m.LevelIs != "strict" || m.Since == "0" || m.MaxTTL != "5000" {
		t.Errorf("%+v", m)
	}
	strict.ClientSkew = 10 * time.Second
	r, code = initialized(t, "--masters", urls, "--guard", "strict", "--max-ttl", "5s", "--client-skew", "10s", "--force", "--yes")
	if code != 0 || r.QuarantineMS != strict.Quarantine().Milliseconds() {
		t.Errorf("exit code %d, %+v, want a quarantine of %v", code, r, strict.Quarantine())
	}
}

func TestExecLocksOnAStrictFleetAtItsLevelOnly(t *testing.T) {
	t.Parallel()
	_, urls := processes(t, 3, redistest.Config{})
	if r := initialize(t, urls, "--guard", "strict"); r.Level != "strict" {
		t.Fatalf("%+v", r)
	}
	for level, want := range map[string]int{"strict": 0, "standard": app.ExitNoQuorum} {
		stdout, stderr, code := output(t, nil, "exec", "--masters", urls, "--guard", level, "--try", "k", "--", binary, "--version")
		if code != want || (want == 0) != strings.HasPrefix(stdout, "redlock-demo ") {
			t.Errorf("%s: exit code %d, %q, %q", level, code, stdout, stderr)
		}
	}
}

func TestInitNeedsAllMasters(t *testing.T) {
	t.Parallel()
	c, urls := processes(t, 3, redistest.Config{})
	kill(t, c.Masters[1])
	stdout, stderr, code := output(t, nil, "init", "--masters", urls)
	if code != app.ExitNoQuorum || stderr != "redlock-demo: nothing was written: 1 master cannot be asked, and all are needed\n" || !strings.Contains(stdout, "✗ ") {
		t.Errorf("exit code %d, %q\n%s", code, stderr, stdout)
	}
	if m := markerOf(t, c.Masters[0]); m != nil {
		t.Errorf("the refusal has written: %+v", m)
	}
}

func TestInitWithoutAMasterThatIsAbsentDeclaresTheOthers(t *testing.T) {
	t.Parallel()
	c, urls := processes(t, 3, redistest.Config{})
	away := c.Masters[2]
	kill(t, away)
	stdout, stderr, code := output(t, nil, "init", "--masters", urls, "--without", away.Addr(), "--yes")
	if code != 0 || stderr != "" || !strings.Contains(stdout, away.Addr()+"  absent\n") ||
		!strings.HasSuffix(stdout, "\ndeclared a fleet of 3 masters, standard, longest TTL 1m0s: it votes at once\n"+away.Addr()+" is absent: it votes 1m0.702s after it has come\n\nCan lock: YES. 2 of 3 masters vote, 2 needed.\n") {
		t.Fatalf("exit code %d, %q\n%s", code, stderr, stdout)
	}
	if m := markerOf(t, c.Masters[0]); m.Since != "0" || m.How != guard.HowDeclared || m.Without != "1" {
		t.Errorf("%+v", m)
	}
	if _, stderr, code := output(t, nil, "exec", "--masters", urls, "--try", "k", "--", binary, "--version"); code != 0 {
		t.Errorf("exec: exit code %d, %q", code, stderr)
	}
	if r, code := initialized(t, "--masters", urls, "--without", away.Addr(), "--yes"); code != 0 || r.Outcome != setup.OutcomeAlready || !r.Masters[2].Absent {
		t.Errorf("again: exit code %d, %+v", code, r)
	}
}

// Callers that live for a moment adopt masters while one is away: the operator who
// knows that the fleet is new may still say so.
func TestInitDeclaresMastersThatWereAdoptedAndDoNotVoteYet(t *testing.T) {
	t.Parallel()
	c, urls := processes(t, 3, redistest.Config{})
	away := c.Masters[2]
	kill(t, away)
	rig.Eventually(t, "those that are there were adopted", func() bool {
		if _, stderr, code := output(t, nil, "exec", "--masters", urls, "--try", "k", "--", binary, "--version"); code != app.ExitNoQuorum {
			t.Fatalf("exec ends with %d: %q", code, stderr)
		}
		return markerOf(t, c.Masters[0]) != nil && markerOf(t, c.Masters[1]) != nil
	})
	if m := markerOf(t, c.Masters[0]); m.How != guard.HowAdopted {
		t.Fatalf("%+v", m)
	}
	if r := initialize(t, urls, "--without", away.Addr(), "--yes"); r.Outcome != setup.OutcomeDeclared || r.Masters[0].Marker == "" {
		t.Fatalf("%+v", r)
	}
	if _, stderr, code := output(t, nil, "exec", "--masters", urls, "--try", "k", "--", binary, "--version"); code != 0 {
		t.Errorf("exec: exit code %d, %q", code, stderr)
	}
}

func TestInitWithoutRefusesWhatIsNotAbsentOrNotNew(t *testing.T) {
	t.Parallel()
	c, urls := processes(t, 3, redistest.Config{AppendOnly: redistest.AppendAlways})
	last := c.Masters[2]
	stdout, stderr, code := output(t, nil, "init", "--masters", urls, "--without", last.Addr(), "--yes")
	if want := "redlock-demo: nothing was written: --without names " + last.Addr() + ", which can be reached: want masters that are absent\n"; code != app.ExitFailed || stderr != want {
		t.Errorf("exit code %d, %q, want %q\n%s", code, stderr, want, stdout)
	}
	if m := markerOf(t, c.Masters[0]); m != nil {
		t.Errorf("the refusal has written: %+v", m)
	}
	locked, _ := processes(t, 1, redistest.Config{Password: "secret"}) // it answers, though not to us
	_, stderr, code = output(t, nil, "init", "--masters", strings.Join(append(c.URLs()[:2], "redis://"+locked.Masters[0].Addr()), ","),
		"--without", locked.Masters[0].Addr(), "--yes")
	if code != app.ExitFailed || !strings.Contains(stderr, "which can be reached") {
		t.Errorf("exit code %d, %q", code, stderr)
	}
	initialize(t, urls)
	kill(t, last)
	restart(t, false, c.Masters[:1]...)
	_, stderr, code = output(t, nil, "init", "--masters", urls, "--without", last.Addr(), "--yes")
	if want := "redlock-demo: nothing was written: 1 master belongs to a fleet already (--force changes it)\n"; code != app.ExitFailed || stderr != want {
		t.Errorf("exit code %d, %q, want %q", code, stderr, want)
	}
	kill(t, c.Masters[1])
	_, stderr, code = output(t, nil, "init", "--masters", urls, "--without", last.Addr(), "--yes")
	if want := "redlock-demo: nothing was written: 1 master cannot be asked, and all are needed but " + last.Addr() + "\n"; code != app.ExitNoQuorum || stderr != want {
		t.Errorf("exit code %d, %q, want %q", code, stderr, want)
	}
}

func TestInitRefusesAMasterThatIsNotFit(t *testing.T) {
	t.Parallel()
	c, _ := processes(t, 2, redistest.Config{})
	bad, _ := processes(t, 1, redistest.Config{MaxMemoryPolicy: "allkeys-lru"})
	r, code := initialized(t, "--masters", strings.Join(append(c.URLs(), bad.URLs()...), ","))
	if code != app.ExitNoQuorum || r.Outcome != setup.OutcomeRefused || !strings.Contains(r.Error, "maxmemory-policy") {
		t.Errorf("exit code %d, %+v", code, r)
	}
}
