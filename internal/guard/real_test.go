package guard

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/redistest"
)

// started is a master of a test's own.
func started(t *testing.T, s *redistest.Server) *master {
	t.Helper()
	conn, err := s.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	m := &master{t: t, conn: conn}
	m.run = m.info().RunID
	return m
}

func (m *master) info() Info {
	m.t.Helper()
	text, err := redis.Bytes(m.conn.Do("INFO"))
	if err != nil {
		m.t.Fatal(err)
	}
	info, err := ParseInfo(text)
	if err != nil {
		m.t.Fatal(err)
	}
	return info
}

func TestARestartIsSeenWhetherOrNotTheDataIsKept(t *testing.T) {
	s := redistest.Start(t, 1, redistest.Config{AppendOnly: redistest.AppendAlways}).Masters[0]
	c := config(Standard)
	m := started(t, s)
	wantVerdict(t, m.script(Declare, c.DeclareArgs(m.run)), Declared)
	for _, keep := range []bool{true, false} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		if err := s.Restart(ctx, keep); err != nil {
			t.Fatal(err)
		}
		again := started(t, s)
		if again.run == m.run {
			t.Fatalf("the run_id is %s as before", again.run)
		}
		answer := again.dial(c)
		if want := map[bool]Verdict{true: Restarted, false: Missing}[keep]; answer.Verdict != want {
			t.Errorf("data kept: %v: %v, want %v", keep, answer.Verdict, want)
		}
		if s := c.Standings([]Facts{again.facts(answer)}, drift.System().Now())[0]; s.Vote {
			t.Errorf("data kept: %v: it %v", keep, s)
		}
	}
}

// A full resynchronisation on a living connection brings another server's
// marker: the check sees it, the next dial too, and no process is believed by
// another's age.
func TestAMasterThatWasAReplicaAbstainsFirst(t *testing.T) {
	servers := redistest.Start(t, 2, redistest.Config{Args: []string{"--repl-diskless-sync-delay", "0"}}).Masters
	c := config(Standard)
	m, source := started(t, servers[0]), started(t, servers[1])
	at := m.script(Declare, c.DeclareArgs(m.run))
	source.script(Declare, c.DeclareArgs(source.run))

	host, port, _ := strings.Cut(servers[1].Addr(), ":")
	m.do("REPLICAOF", host, port)
	f := m.facts(at)
	if f.Info = m.info(); f.Info.Role != "slave" {
		t.Errorf("its role is %q", f.Info.Role)
	}
	if s := c.Standings([]Facts{f}, drift.System().Now())[0]; s.Vote || s.Why.Cause != NotMaster {
		t.Errorf("as a replica it %v", s)
	}
	command, args := Check()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if reply, err := m.conn.Do(command, args...); err == nil && !at.Holds(reply) {
			break
		}
		if time.Now().After(end) {
			t.Fatal("not within 20s: the check sees the other server's marker")
		}
	}
	if reply, err := m.conn.Do("EVAL", Dial.EvalArgs(c.DialArgs(m.run, m.time(), 0))...); err == nil {
		t.Errorf("a replica answers the dial script: %q", reply)
	}
	m.do("REPLICAOF", "NO", "ONE")
	answer := m.dial(c)
	wantVerdict(t, answer, Restarted)
	f = m.facts(answer)
	f.Info = m.info()
	if s := c.Standings([]Facts{f}, drift.System().Now())[0]; s.Vote || s.Why.Cause != Quarantined {
		t.Errorf("promoted, it %v", s)
	}
}

var called = regexp.MustCompile(`redis\.p?call\('(\w+)'`)

// The commands that docs/guard.md names for an ACL are all that the scripts use.
func TestTheScriptsRunUnderTheMinimalACL(t *testing.T) {
	var commands []string
	for _, s := range Scripts {
		for _, match := range called.FindAllStringSubmatch(s.Source, -1) {
			commands = append(commands, strings.ToLower(match[1]))
		}
	}
	slices.Sort(commands)
	commands = slices.Compact(commands)
	documented := []string{"del", "exists", "hmget", "hset", "persist", "pttl", "time", "type"}
	if !slices.Equal(commands, documented) {
		t.Errorf("the scripts use %v, docs/guard.md says %v", commands, documented)
	}
	acl := "user guard on >secret ~" + Key + " +evalsha +eval +info +" + strings.Join(documented, " +")
	s := redistest.Start(t, 1, redistest.Config{ACL: []string{acl}, Username: "guard", Password: "secret"}).Masters[0]
	conn, err := redis.DialURLContext(t.Context(), s.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	m := &master{t: t, conn: conn}
	m.run = m.info().RunID
	c := config(Strict)
	wantVerdict(t, m.dial(c), Created)
	wantVerdict(t, m.dial(c), Same)
	wantVerdict(t, m.script(Init, c.InitArgs(m.run, m.time(), time.Minute, false, "")), Present)
	wantVerdict(t, m.script(Init, c.InitArgs(m.run, m.time(), time.Minute, true, "")), Forced)
	wantVerdict(t, m.script(Declare, c.DeclareArgs(m.run)), Present)
	wantVerdict(t, m.script(Adopt, c.AdoptArgs(m.run)), Present)
	if _, err := conn.Do("SET", "lock", "1"); err == nil {
		t.Error("the user may do more than it was given")
	}
}
